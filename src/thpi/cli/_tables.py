"""Rows of numbers from npy, npz, csv and parquet files, read in portions: files may be larger than memory."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array, InMemory
from thpi.cli._columns import Value, csv_rows, load_array, split_spec

FORMATS = ".npy, .npz, .csv, .tsv or .parquet"
# Numbers held at a time, 32 MiB of float64.
_PORTION = 2**22


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


def open_table(
    argument: str,
    spec: str,
    *,
    key: str | None = None,
    ignore: Sequence[str] = (),
    features: Sequence[str] | None = None,
) -> Table:
    """Open a file of rows. ``key`` is a column that is not a feature, ``ignore`` are columns to leave out.

    If the file names its columns and ``features`` is given, only these are read, in this order.
    """
    path, name = split_spec(spec)
    kind = path.suffix.lower()
    if kind not in (".npy", ".npz", ".csv", ".tsv", ".parquet"):
        raise ValueError(f"{argument}={spec!r} must be a {FORMATS} file.")
    if not path.exists():
        raise ValueError(f"{argument}={spec!r} does not exist.")
    if kind in (".npy", ".npz"):
        if key is not None or ignore:
            raise ValueError(
                f"{argument}={spec!r} has no named columns, so {(key or ignore[0])!r} cannot be one of them."
            )
        return _array_table(argument, spec, load_array(argument, path, name))
    if name is not None:
        raise ValueError(f"{argument}={spec!r} names one column; rows are read from all of {str(path)!r}.")
    chosen = Choice(argument, spec, key, tuple(ignore), None if features is None else tuple(features))
    return _parquet_table(path, chosen) if kind == ".parquet" else _csv_table(path, chosen)


def read_matrix(argument: str, spec: str, **choice: Any) -> tuple[InMemory, list[Value] | None, tuple[str, ...] | None]:
    """Read all rows: the matrix (memory-mapped or sparse if possible), the keys and the column names."""
    table = open_table(argument, spec, **choice)
    if table.whole is not None:
        for _ in table.batches:  # checks every number
            pass
        return table.whole, None, None
    batches = list(table.batches)
    if not batches:
        raise ValueError(f"{argument}={spec!r} has no rows.")
    keys = None if batches[0].keys is None else list(chain.from_iterable(batch.keys or [] for batch in batches))
    return np.concatenate([batch.values for batch in batches]), keys, table.names


class Choice(NamedTuple):
    """Which columns of a table with named columns are features, and which is the key."""

    argument: str
    spec: str
    key: str | None
    ignore: tuple[str, ...]
    features: tuple[str, ...] | None

    def of(self, columns: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
        for name in (*self.ignore, *([] if self.key is None else [self.key])):
            if name not in columns:
                raise ValueError(f"{self.argument}={self.spec!r} has no column {name!r}, only {_some(columns)}.")
        if self.features is not None:
            missing = [name for name in self.features if name not in columns]
            if missing:
                raise ValueError(
                    f"{self.argument}={self.spec!r} has no column {missing[0]!r}, which is one of the features; "
                    f"it has {_some(columns)}."
                )
            return self.features, self.key
        left_out = {self.key, *self.ignore}
        return tuple(name for name in columns if name not in left_out), self.key

    def no_number(self, where: str, value: object, column: str | None) -> ValueError:
        # Only columns with a name can be left out.
        hint = "" if column is None else f" (--ignore {column} leaves the column out)"
        return ValueError(f"{self.argument}={self.spec!r} {where}: {value!r} is not a finite number{hint}.")


def _array_table(argument: str, spec: str, array: InMemory) -> Table:
    if len(array.shape) != 2 or array.dtype.kind not in "fiub" or 0 in array.shape:
        what = "codes, not vectors" if array.dtype.names else f"an array of shape {array.shape}, dtype {array.dtype}"
        raise ValueError(f"{argument}={spec!r} holds {what}; it must be a 2-D array of numbers, one row per item.")

    def batches() -> Iterator[Batch]:
        n = array.shape[0]
        for start in range(0, n, step := _step(array.shape[1])):
            part = array[start : start + step]
            numbers = part.data if hasattr(part, "tocsr") else part
            if not np.isfinite(numbers).all():
                row = next((i for i, values in enumerate(np.asarray(part)) if not np.isfinite(values).all()), 0)
                raise ValueError(f"{argument}={spec!r} row {start + row} holds a NaN or an infinity.")
            yield Batch(part, None, min(1.0, (start + step) / n))

    return Table(None, batches(), array)


def _csv_table(path: Path, choice: Choice) -> Table:
    raw = open(path, "rb")  # noqa: SIM115 - read in portions, by the iterator of batches
    size = os.fstat(raw.fileno()).st_size

    def rows() -> Iterator[tuple[int, list[str]]]:
        with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            yield from csv_rows(choice.argument, path, text)

    def done() -> float | None:
        return 1.0 if raw.closed else raw.tell() / size if size else None

    return csv_table(choice, rows(), done)


def csv_table(
    choice: Choice,
    rows: Iterator[tuple[int, list[str]]],
    done: Callable[[], float | None],
    n_rows: int | None = None,
) -> Table:
    """Read rows of cells in batches of ``n_rows``; a first row with a cell that is not a number names the columns."""
    first_line, first = next(rows, (0, []))
    if not first:
        raise ValueError(f"{choice.argument}={choice.spec!r} has no rows.")
    if all(_is_number(cell) for cell in first):
        if choice.key is not None or choice.ignore:
            wanted = choice.key or choice.ignore[0]
            raise ValueError(f"{choice.argument}={choice.spec!r} has no line of names, so no column {wanted!r}.")
        names, key, header = None, None, []
        at = list(range(len(first)))
        rows = chain([(first_line, first)], rows)
    else:
        header = [cell.strip() for cell in first]
        if len(set(header)) < len(header):
            raise ValueError(
                f"{choice.argument}={choice.spec!r} has two columns with the same name among {_some(header)}."
            )
        names, key = choice.of(header)
        at = [header.index(name) for name in names]
    if not at:
        raise ValueError(f"{choice.argument}={choice.spec!r} has no column of features left.")
    width, key_at = len(first), None if key is None else header.index(key)

    def batches() -> Iterator[Batch]:
        # A cell takes many times the memory of its number.
        while portion := list(islice(rows, n_rows or _step(16 * len(at)))):
            for line, cells in portion:
                if len(cells) != width:
                    raise ValueError(
                        f"{choice.argument}={choice.spec!r} line {line} has {len(cells)} cells; the first has {width}."
                    )
            numbers = (cells[i] for _, cells in portion for i in at)
            try:
                values = np.fromiter(map(float, numbers), np.float64, len(portion) * len(at)).reshape(-1, len(at))
            except ValueError:
                raise _first_wrong(choice, portion, at, header) from None
            if not np.isfinite(values).all():
                raise _first_wrong(choice, portion, at, header)
            yield Batch(values, None if key_at is None else [cells[key_at] for _, cells in portion], done())

    return Table(names, batches())


def _first_wrong(choice: Choice, rows: list[tuple[int, list[str]]], at: list[int], header: list[str]) -> ValueError:
    line, i, cell = next((line, i, cells[i]) for line, cells in rows for i in at if not _is_number(cells[i], True))
    column = header[i] if header else None
    return choice.no_number(f"line {line}, column {column or i + 1}", cell, column)


def _parquet_table(path: Path, choice: Choice) -> Table:
    from thpi._optional import require

    pa, pq = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowException as error:
        raise ValueError(f"{choice.argument}={choice.spec!r} is not a Parquet file ({error}).") from None
    schema = file.schema_arrow
    names, key = choice.of(schema.names)
    lists = len(names) == 1 and (
        pa.types.is_list(schema.field(names[0]).type) or pa.types.is_fixed_size_list(schema.field(names[0]).type)
    )
    for name in names:
        kind = schema.field(name).type
        if not lists and not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise ValueError(
                f"{choice.argument}={choice.spec!r} column {name!r} holds {kind}, not numbers; "
                f"--ignore {name} leaves it out."
            )
    if not names:
        raise ValueError(f"{choice.argument}={choice.spec!r} has no column of features left.")

    def batches() -> Iterator[Batch]:
        read, n = 0, file.metadata.num_rows
        columns = [*names, *([] if key is None else [key])]
        # The length of the lists is not known in advance; a thousand numbers is common.
        for part in file.iter_batches(_step(1000 if lists else len(names)), columns=columns):
            values = _from_lists(choice, part.column(names[0])) if lists else _from_columns(part, names)
            if not np.isfinite(values).all():
                row, i = np.argwhere(~np.isfinite(values))[0]
                column = None if lists else names[i]
                raise choice.no_number(f"row {read + row}, column {column or i}", float(values[row, i]), column)
            read += len(part)
            yield Batch(values, None if key is None else part.column(key).to_pylist(), read / n)

    return Table(None if lists else names, batches())


def _from_columns(part: Any, names: Sequence[str]) -> Array:
    # A null becomes NaN, which is then refused.
    columns = [part.column(name).to_numpy(zero_copy_only=False) for name in names]
    float32 = all(column.dtype == np.float32 for column in columns)
    return np.column_stack([column.astype(np.float32 if float32 else np.float64) for column in columns])


def _from_lists(choice: Choice, column: Any) -> Array:
    rows = column.to_pylist()
    widths = {None if row is None else len(row) for row in rows}
    if len(widths) != 1 or None in widths:
        raise ValueError(f"{choice.argument}={choice.spec!r} has lists of different lengths, or nulls.")
    return np.array(rows, dtype=np.float64)


def _step(n_columns: int) -> int:
    return max(1, _PORTION // max(1, n_columns))


def _is_number(cell: str, finite: bool = False) -> bool:
    try:
        return bool(np.isfinite(float(cell))) or not finite
    except ValueError:
        return False


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)} columns)" if len(names) > 8 else "")
