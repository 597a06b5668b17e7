"""Rows of numbers from files, which may be larger than memory, and from standard input, read in portions."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from thpi._types import Floats, InMemory
from thpi.cli._columns import Value, csv_rows, load_array, split_spec

Names: TypeAlias = "Sequence[str] | None"

_PORTION = 2**22  # numbers held at a time, 32 MiB of float64
_STDIN_ROWS = 256  # rows of standard input that are answered together; few, so that the first answers come soon


class Batch(NamedTuple):
    """Some rows, the values of their key column (ids or labels), and the share of the file read so far."""

    values: InMemory
    keys: list[Value] | None
    done: float | None


class Table(NamedTuple):
    """An open file: the names of its columns of features, if it has names, and its rows."""

    names: tuple[str, ...] | None
    batches: Iterator[Batch]
    whole: InMemory | None = None


class _Choice(NamedTuple):
    """A file, and which of its columns are features and which is the key."""

    argument: str
    spec: str
    key: str | None
    ignore: Sequence[str]
    features: Names

    def error(self, text: str) -> ValueError:
        return ValueError(f"{self.argument}={self.spec!r} {text}")

    def of(self, columns: Sequence[str]) -> tuple[str, ...]:
        left_out = [*self.ignore, *([] if self.key is None else [self.key])]
        for name in left_out:
            if name not in columns:
                raise self.error(f"has no column {name!r}, only {_some(columns)}.")
        for name in self.features or ():
            if name not in columns:
                raise self.error(f"has no column {name!r}, which is one of the features; it has {_some(columns)}.")
        features = self.features or [name for name in columns if name not in left_out]
        if not features:
            raise self.error("has no column of features left.")
        return tuple(features)

    def no_number(self, where: str, value: object, column: str | None) -> ValueError:
        # Only columns with a name can be left out.
        hint = "" if column is None else f" (--ignore {column} leaves the column out)"
        return self.error(f"{where}: {value!r} is not a finite number{hint}.")


def open_table(
    argument: str, spec: str, *, key: str | None = None, ignore: Names = None, features: Names = None
) -> Table:
    """Open a file of rows: the columns ``features`` in this order, or all but ``ignore`` and ``key`` (ids, labels)."""
    path, name = split_spec(spec)
    kind = path.suffix.lower()
    choice = _Choice(argument, spec, key, ignore or (), features)
    if kind not in (".npy", ".npz", ".csv", ".tsv", ".parquet"):
        raise choice.error("must be a .npy, .npz, .csv, .tsv or .parquet file.")
    if not path.exists():
        raise choice.error("does not exist.")
    if kind in (".npy", ".npz"):
        if key is not None or choice.ignore:
            raise choice.error(f"has no named columns, so {(key or choice.ignore[0])!r} cannot be one of them.")
        return _array_table(choice, load_array(argument, path, name))
    if name is not None:
        raise choice.error(f"names one column; rows are read from all of {str(path)!r}.")
    if kind == ".parquet":
        return _parquet_table(choice)
    raw = open(path, "rb")  # noqa: SIM115 - read in portions, by the iterator of batches
    size = os.fstat(raw.fileno()).st_size
    return _csv_table(choice, _text_lines(raw), lambda: 1.0 if raw.closed else raw.tell() / size if size else None)


def read_matrix(
    argument: str, spec: str, *, key: str | None = None, ignore: Names = None, features: Names = None
) -> tuple[InMemory, list[Value] | None, tuple[str, ...] | None]:
    """Read all rows: the matrix (memory-mapped or sparse if possible), the keys and the column names."""
    table = open_table(argument, spec, key=key, ignore=ignore, features=features)
    if table.whole is not None:
        for _ in table.batches:  # checks every number
            pass
        return table.whole, None, None
    batches = list(table.batches)
    if not batches:
        raise ValueError(f"{argument}={spec!r} has no rows.")
    keys = None if key is None else list(chain.from_iterable(batch.keys or [] for batch in batches))
    return np.concatenate([batch.values for batch in batches]), keys, table.names


def read_stdin(key: str | None, features: Names) -> Iterator[Batch]:
    """Iterate over batches of rows; lines that begin with [ or { are JSON, others csv."""
    rest = (line for line in sys.stdin if line.strip())
    first = next(rest, "")
    lines = chain([first], rest)
    choice = _Choice("QUERIES", "-", key, (), features)
    if first.lstrip()[:1] in ("[", "{"):
        return _json_batches(choice, enumerate(lines))
    return _csv_table(choice, lines, lambda: None, _STDIN_ROWS).batches


def _json_batches(choice: _Choice, lines: Iterator[tuple[int, str]]) -> Iterator[Batch]:
    while portion := list(islice(lines, _STDIN_ROWS)):
        rows: list[Floats] = []
        keys: list[Value] = []
        for number, line in portion:
            vector, name = _json_vector(choice, line, number)
            if rows and len(vector) != len(rows[0]):
                raise choice.error(f"line {number + 1} has {len(vector)} numbers; the first has {len(rows[0])}.")
            rows.append(vector)
            keys.append(name)
        yield Batch(np.stack(rows), keys, None)


def _json_vector(choice: _Choice, line: str, number: int) -> tuple[Floats, Value]:
    """Read one line: the vector, and its name (by default the number of the line, from 0)."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise choice.error(f"line {number + 1} is not JSON ({error}).") from None
    name: Value = number
    if isinstance(value, dict):
        name, value = value.get("id", number), value.get("vector")
    try:
        vector = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        vector = np.empty(0)
    if vector.ndim != 1 or len(vector) == 0 or not np.isfinite(vector).all():
        text = 'a list of finite numbers, or {"id": ..., "vector": [...]}'
        raise choice.error(f"line {number + 1} must be {text}.")
    return vector, name


def _array_table(choice: _Choice, array: InMemory) -> Table:
    if len(array.shape) != 2 or array.dtype.kind not in "fiub" or 0 in array.shape:
        what = "codes, not vectors" if array.dtype.names else f"an array of shape {array.shape}, dtype {array.dtype}"
        raise choice.error(f"holds {what}; it must be a 2-D array of numbers, one row per item.")

    def batches() -> Iterator[Batch]:
        n = array.shape[0]
        for start in range(0, n, step := _step(array.shape[1])):
            part = array[start : start + step]
            numbers = part.data if hasattr(part, "tocsr") else part
            if not np.isfinite(numbers).all():
                row = next((i for i, values in enumerate(np.asarray(part)) if not np.isfinite(values).all()), 0)
                raise choice.error(f"row {start + row} holds a NaN or an infinity.")
            yield Batch(part, None, min(1.0, (start + step) / n))

    return Table(None, batches(), array)


def _text_lines(raw: io.BufferedReader) -> Iterator[str]:
    with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        yield from text


def _csv_table(
    choice: _Choice, lines: Iterable[str], done: Callable[[], float | None], n_rows: int | None = None
) -> Table:
    """Read lines in batches of ``n_rows``; a first line with a cell that is not a number names the columns."""
    rows = csv_rows(choice.argument, choice.spec, lines)
    first = next(rows, None)
    if first is None:
        raise choice.error("has no rows.")
    width, header, names = len(first[1]), [cell.strip() for cell in first[1]], None
    if all(map(_is_number, header)):
        if choice.key is not None or choice.ignore:
            raise choice.error(f"has no line of names, so no column {choice.key or choice.ignore[0]!r}.")
        header, at = [], list(range(width))
        rows = chain([first], rows)
    else:
        if len(set(header)) < width:
            raise choice.error(f"has two columns with the same name among {_some(header)}.")
        names = choice.of(header)
        at = [header.index(name) for name in names]
    key_at = None if choice.key is None else header.index(choice.key)

    def batches() -> Iterator[Batch]:
        # A cell takes many times the memory of its number.
        while portion := list(islice(rows, n_rows or _step(16 * len(at)))):
            for line, cells in portion:
                if len(cells) != width:
                    raise choice.error(f"line {line} has {len(cells)} cells; the first has {width}.")
            numbers = (cells[i] for _, cells in portion for i in at)
            try:
                values = np.fromiter(map(float, numbers), np.float64, len(portion) * len(at)).reshape(-1, len(at))
            except ValueError:
                raise _first_wrong(choice, portion, at, header) from None
            if not np.isfinite(values).all():
                raise _first_wrong(choice, portion, at, header)
            yield Batch(values, None if key_at is None else [cells[key_at] for _, cells in portion], done())

    return Table(names, batches())


def _first_wrong(choice: _Choice, rows: list[tuple[int, list[str]]], at: list[int], header: list[str]) -> ValueError:
    line, i, cell = next((line, i, cells[i]) for line, cells in rows for i in at if not _is_number(cells[i], True))
    column = header[i] if header else None
    return choice.no_number(f"line {line}, column {column or i + 1}", cell, column)


def _parquet_table(choice: _Choice) -> Table:
    from thpi.rows import Parquet
    from thpi.rows._parquet import record_values

    path = Path(choice.spec)
    named = f"{str(path)!r} "  # messages of ``rows`` begin with it
    try:
        file = Parquet(path).open(path)
    except ValueError as error:
        raise choice.error(str(error).removeprefix(named)) from None
    names = choice.of(file.schema_arrow.names)
    lists = len(names) == 1 and file.schema_arrow.field(names[0]).type.num_fields == 1

    def batches() -> Iterator[Batch]:
        read, n = 0, file.metadata.num_rows
        columns = [*names, *([] if choice.key is None else [choice.key])]
        # The length of the lists is not known in advance; a thousand numbers is common.
        for part in file.iter_batches(_step(1000 if lists else len(names)), columns=columns):
            for name in () if lists else names:
                if part.column(name).null_count:
                    row = part.column(name).is_null().to_pylist().index(True)
                    raise choice.no_number(f"row {read + row}, column {name}", float("nan"), name)
            try:
                values = record_values(part, names, str(path))
            except ValueError as error:
                raise choice.error(f"{str(error).removeprefix(named)} --ignore leaves a column out.") from None
            if not np.isfinite(values).all():
                row, i = np.argwhere(~np.isfinite(values))[0]
                column = None if lists else names[i]
                raise choice.no_number(f"row {read + row}, column {column or i}", float(values[row, i]), column)
            read += len(part)
            keys = None if choice.key is None else part.column(choice.key).to_pylist()
            yield Batch(values.astype(np.float64) if lists else values, keys, read / n)

    return Table(None if lists else names, batches())


def _step(n_columns: int) -> int:
    return max(1, _PORTION // max(1, n_columns))


def _is_number(cell: str, finite: bool = False) -> bool:
    try:
        return bool(np.isfinite(float(cell))) or not finite
    except ValueError:
        return False


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)} columns)" if len(names) > 8 else "")
