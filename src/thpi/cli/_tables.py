"""Rows of numbers from files, which may be larger than memory, and from standard input, read in portions."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Floats, InMemory
from thpi.cli._choice import Choice, Columns, Names, some
from thpi.cli._columns import Value, csv_rows, load_array, split_spec

_PORTION = 2**22  # numbers held at a time, 32 MiB of float64
_STDIN_ROWS = 256  # rows of standard input that are answered together; few, so that the first answers come soon


class Batch(NamedTuple):
    """Some rows, their ids and labels, and the share of the file read so far."""

    values: InMemory
    ids: list[Value] | None
    labels: list[Value] | None
    done: float | None


class Table(NamedTuple):
    """An open file: its columns, if they have names, the names of the features, and its rows."""

    columns: Columns | None
    names: tuple[str, ...] | None
    batches: Iterator[Batch]
    whole: InMemory | None = None


class TableRows(NamedTuple):
    """All rows of a file; ids, labels, names of features and columns are None where there are none."""

    X: Any  # InMemory, or Rows of a folder
    ids: list[Value] | None
    labels: list[Value] | None
    names: tuple[str, ...] | None
    columns: Columns | None


def open_table(choice: Choice) -> Table:
    """Open a file of rows."""
    path, name = split_spec(choice.spec)
    kind = path.suffix.lower()
    if kind not in (".npy", ".npz", ".csv", ".tsv", ".parquet"):
        raise choice.error("must be a .npy, .npz, .csv, .tsv or .parquet file.")
    if not path.exists():
        raise choice.error("does not exist.")
    if kind in (".npy", ".npz"):
        choice.check_nameless("has no named columns")
        return _array_table(choice, load_array(choice.argument, path, name))
    if name is not None:
        raise choice.error(f"names one column; rows are read from all of {str(path)!r}.")
    if kind == ".parquet":
        return _parquet_table(choice)
    raw = open(path, "rb")  # noqa: SIM115 - read in portions, by the iterator of batches
    size = os.fstat(raw.fileno()).st_size
    return _csv_table(choice, _text_lines(raw), lambda: 1.0 if raw.closed else raw.tell() / size if size else None)


def read_matrix(choice: Choice) -> TableRows:
    """Read all rows; the matrix is memory-mapped or sparse if possible."""
    table = open_table(choice)
    if table.whole is not None:
        for _ in table.batches:  # checks every number
            pass
        return TableRows(table.whole, None, None, None, None)
    batches = list(table.batches)
    if not batches:
        raise choice.error("has no rows.")
    X = np.concatenate([batch.values for batch in batches])
    if table.columns is None:
        return TableRows(X, None, None, table.names, None)
    ids, labels = (
        None if column is None else list(chain.from_iterable(part or [] for part in parts))
        for column, parts in (
            (table.columns.id, (batch.ids for batch in batches)),
            (table.columns.labels, (batch.labels for batch in batches)),
        )
    )
    return TableRows(X, ids, labels, table.names, table.columns)


def read_stdin(id: str | None, features: Names) -> Iterator[Batch]:
    """Iterate over batches of rows; lines that begin with [ or { are JSON, others csv."""
    rest = (line for line in sys.stdin if line.strip())
    first = next(rest, "")
    lines = chain([first], rest)
    choice = Choice("QUERIES", "-", id, features=features)
    if first.lstrip()[:1] in ("[", "{"):
        return _json_batches(choice, enumerate(lines))
    return _csv_table(choice, lines, lambda: None, _STDIN_ROWS).batches


def _json_batches(choice: Choice, lines: Iterator[tuple[int, str]]) -> Iterator[Batch]:
    while portion := list(islice(lines, _STDIN_ROWS)):
        rows: list[Floats] = []
        keys: list[Value] = []
        for number, line in portion:
            vector, name = _json_vector(choice, line, number)
            if rows and len(vector) != len(rows[0]):
                raise choice.error(f"line {number + 1} has {len(vector)} numbers; the first has {len(rows[0])}.")
            rows.append(vector)
            keys.append(name)
        yield Batch(np.stack(rows), keys, None, None)


def _json_vector(choice: Choice, line: str, number: int) -> tuple[Floats, Value]:
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


def _array_table(choice: Choice, array: InMemory) -> Table:
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
            yield Batch(part, None, None, min(1.0, (start + step) / n))

    return Table(None, None, batches(), array)


def _text_lines(raw: io.BufferedReader) -> Iterator[str]:
    with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        yield from text


def _csv_table(
    choice: Choice, lines: Iterable[str], done: Callable[[], float | None], n_rows: int | None = None
) -> Table:
    """Read lines in batches of ``n_rows``; a first line with a cell that is not a number names the columns."""
    rows = csv_rows(choice.argument, choice.spec, lines)
    first = next(rows, None)
    if first is None:
        raise choice.error("has no rows.")
    width, header, columns = len(first[1]), [cell.strip() for cell in first[1]], None
    if all(map(_is_number, header)):
        choice.check_nameless("has no line of names")
        header, at = [], list(range(width))
        rows = chain([first], rows)
    else:
        if len(set(header)) < width:
            raise choice.error(f"has two columns with the same name among {some(header)}.")
        columns = choice.of(header)
        at = [header.index(name) for name in columns.features]
    apart = (None, None) if columns is None else (columns.id, columns.labels)
    apart_at = [None if name is None else header.index(name) for name in apart]

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
            texts: list[list[Value] | None]
            texts = [None if i is None else [cells[i] for _, cells in portion] for i in apart_at]
            yield Batch(values, texts[0], texts[1], done())

    return Table(columns, None if columns is None else columns.features, batches())


def _first_wrong(choice: Choice, rows: list[tuple[int, list[str]]], at: list[int], header: list[str]) -> ValueError:
    line, i, cell = next((line, i, cells[i]) for line, cells in rows for i in at if not _is_number(cells[i], True))
    column = header[i] if header else None
    return choice.no_number(f"line {line}, column {column or i + 1}", cell, column)


def _parquet_table(choice: Choice) -> Table:
    from thpi.rows import Parquet
    from thpi.rows._parquet import record_values

    path = Path(choice.spec)
    named = f"{str(path)!r} "  # messages of ``rows`` begin with it
    try:
        file = Parquet(path).open(path)
    except ValueError as error:
        raise choice.error(str(error).removeprefix(named)) from None
    columns = choice.of(file.schema_arrow.names)
    names = columns.features
    lists = len(names) == 1 and file.schema_arrow.field(names[0]).type.num_fields == 1

    def batches() -> Iterator[Batch]:
        read, n = 0, file.metadata.num_rows
        # The length of the lists is not known in advance; a thousand numbers is common.
        for part in file.iter_batches(_step(1000 if lists else len(names)), columns=columns.read):
            for name in () if lists else names:
                if part.column(name).null_count:
                    row = part.column(name).is_null().to_pylist().index(True)
                    raise choice.no_number(f"row {read + row}, column {name}", float("nan"), name)
            try:
                values = record_values(part, names, str(path))
            except ValueError as error:
                column = next((name for name in names if repr(name) in str(error)), None)
                text = str(error).removeprefix(named).rstrip(".")
                raise choice.error(f"{text}{choice.hint(column)}.") from None
            if not np.isfinite(values).all():
                row, i = np.argwhere(~np.isfinite(values))[0]
                column = None if lists else names[i]
                raise choice.no_number(f"row {read + row}, column {column or i}", float(values[row, i]), column)
            read += len(part)
            apart = (columns.id, columns.labels)
            ids, labels = (None if name is None else part.column(name).to_pylist() for name in apart)
            yield Batch(values.astype(np.float64) if lists else values, ids, labels, read / n)

    return Table(columns, None if lists else names, batches())


def _step(n_columns: int) -> int:
    return max(1, _PORTION // max(1, n_columns))


def _is_number(cell: str, finite: bool = False) -> bool:
    try:
        return bool(np.isfinite(float(cell))) or not finite
    except ValueError:
        return False
