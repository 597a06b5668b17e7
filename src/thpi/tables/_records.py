"""Columns of csv and Parquet files, read by pyarrow in portions; what is wrong is named by line or row, and column."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from thpi._types import Array
from thpi.tables._choice import Choice, some

PORTION = 2**22
"""Numbers held at a time, 32 MiB of float64."""

_WORTH_THREADS = 2**20  # bytes; threads that have just begun can end a process that ends (std::terminate)


Lines: TypeAlias = "Iterator[tuple[int, list[str]]]"  # number of a line, and its cells


class Part(NamedTuple):
    """Some rows: the columns of numbers as a matrix, all finite; other columns by name; the share of the file read."""

    numbers: Array
    others: dict[str, list[Any]]
    done: float | None


class Records(NamedTuple):
    """An open file: the names of its columns, whether it has any or they are just counted, and what reads it.

    ``read`` takes the columns of numbers and the others.
    """

    names: list[str]
    named: bool
    read: Callable[[Sequence[str], Sequence[str]], Iterator[Part]]
    lists: frozenset[str] = frozenset()  # columns that hold one vector a row


def open_records(choice: Choice, path: Path) -> Records:
    """Open a csv, tsv or Parquet file."""
    if path.suffix.lower() == ".parquet":
        return _open_parquet(choice, path)
    raw = open(path, "rb")  # noqa: SIM115 - closed when all is read
    size = os.fstat(raw.fileno()).st_size

    def take() -> bytes:
        data = raw.read(2 * PORTION)
        return data if len(data) == 2 * PORTION or not data else data.rstrip(b"\n") + b"\n"  # the last line ends, too

    return open_csv(choice, raw, take, lambda: raw.tell() / size if size else None)


def open_csv(
    choice: Choice, raw: IO[bytes], take: Callable[[], bytes], done: Callable[[], float | None], begun: bytes = b""
) -> Records:
    """Read the first line, which names the columns if a cell is not a number; ``begun`` was read of it before.

    It decides the delimiter: comma, semicolon or tab. Then ``take`` reads on.
    """
    head = begun or raw.readline()
    while head and (not head.strip() or head.count(b'"') % 2) and (more := raw.readline()):
        head += more
    delimiter = max(",;\t", key=lambda mark: head.count(mark.encode()))
    cells = next((cells for _, cells in _rows(choice, head, delimiter, 0) if cells), None)
    if cells is None:
        raise choice.error("has no rows.")
    names, named = [cell.strip() for cell in cells], not all(map(_is_number, cells))
    if named and len(set(names)) < len(names):
        raise choice.error(f"has two columns with the same name among {some(names)}.")
    names = names if named else [str(1 + i) for i in range(len(names))]

    def read(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Part]:
        types = dict.fromkeys(numbers, pa.float64()) | dict.fromkeys(others, pa.string())
        line = head.count(b"\n") if named else 0
        with raw:
            for chunk in chunks(take, b"" if named else head, _last_record):
                if chunk.count(b'"') % 2:  # pyarrow would end an open quote by itself
                    list(_rows(choice, chunk, delimiter, line))
                if chunk.strip():
                    table = _parsed(chunk, names, types, delimiter)
                    X = None if isinstance(table, str) else _matrix(table, numbers)
                    if isinstance(table, str) or X is None:
                        raise _first_wrong(choice, _rows(choice, chunk, delimiter, line), names, named, numbers, table)
                    yield Part(X, {name: table.column(name).to_pylist() for name in others}, done())
                line += chunk.count(b"\n")

    return Records(names, named, read)


def chunks(take: Callable[[], bytes], waiting: bytes, last: Callable[[bytes], int]) -> Iterator[bytes]:
    """Cut what comes into whole records; ``last`` says where the last one ends. ``waiting`` was read before."""
    while True:
        if end := last(waiting):
            yield waiting[:end]
            waiting = waiting[end:]
        if not (more := take()):
            break
        waiting += more
    if waiting:
        yield waiting


def _last_record(data: bytes) -> int:
    """The end of the last line that does not end within quotes.

    >>> _last_record(b'1,2\\n"two\\nlines')
    4
    """
    end, inside = len(data), data.count(b'"') % 2
    while cut := data.rfind(b"\n", 0, end) + 1:
        inside ^= data.count(b'"', cut, end) % 2
        if not inside:
            return cut
        end = cut - 1
    return 0


def _parsed(chunk: bytes, names: list[str], types: dict[str, Any], delimiter: str) -> Any:
    """The columns that have a type, as a table of pyarrow, or what is wrong, in its words."""
    from pyarrow import csv as arrow

    try:
        return arrow.read_csv(
            pa.BufferReader(chunk),
            arrow.ReadOptions(use_threads=len(chunk) > _WORTH_THREADS, column_names=names, block_size=len(chunk) + 1),
            arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
    except pa.ArrowInvalid as error:
        return " ".join(str(error).split())


def _matrix(table: Any, names: Sequence[str]) -> Array | None:
    """Columns as a matrix; None if a number is not finite, or a text is none."""
    X = np.empty((len(table), len(names)))
    for j, name in enumerate(names):
        column = table.column(name)
        try:
            numbers = column if pa.types.is_float64(column.type) else column.cast(pa.float64())
        except pa.ArrowInvalid:
            return None
        # Not to_numpy, which would import pandas.
        X[:, j] = np.concatenate([np.from_dlpack(chunk) for chunk in numbers.chunks])
    return X if np.isfinite(X).all() else None


def _rows(choice: Choice, data: bytes, delimiter: str, before: int) -> Lines:
    """Line and cells of each row, read slowly: for the names of columns, and to find out what is wrong."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise choice.error(f"is not UTF-8 text ({error.reason}).") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            yield before + reader.line_num, cells
    except csv.Error as error:
        raise choice.error(f"line {before + max(1, reader.line_num)}: {error}.") from None


def _first_wrong(
    choice: Choice, rows: Lines, names: list[str], named: bool, numbers: Sequence[str], why: Any
) -> ValueError:
    at = [names.index(name) for name in numbers]
    for line, cells in rows:
        if cells and len(cells) != len(names):
            return choice.error(f"line {line} has {len(cells)} cells; the first has {len(names)}.")
        for i in at if cells else ():
            if not _is_number(cells[i], finite=True):
                return choice.no_number(f"line {line}, column {names[i]}", cells[i], names[i] if named else None)
    return choice.error(f"is not readable: {why}.")


def _is_number(cell: str, finite: bool = False) -> bool:
    try:
        return bool(np.isfinite(float(cell))) or not finite
    except ValueError:
        return False


def _open_parquet(choice: Choice, path: Path) -> Records:
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise choice.error(f"is not a Parquet file ({' '.join(str(error).split())}).") from None
    schema, n = file.schema_arrow, file.metadata.num_rows
    lists = frozenset(field.name for field in schema if field.type.num_fields == 1)

    def read(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Part]:
        vectors = len(numbers) == 1 and numbers[0] in lists
        # The length of the lists is not known in advance; a thousand numbers is common.
        step = max(1, PORTION // (1000 if vectors else max(1, len(numbers))))
        before = 0
        for batch in file.iter_batches(step, columns=list(dict.fromkeys([*numbers, *others]))):
            X = _numbers_of(choice, batch, numbers, vectors, before) if numbers else np.empty((len(batch), 0))
            before += len(batch)
            yield Part(X, {name: batch.column(name).to_pylist() for name in others}, before / n)

    return Records(schema.names, True, read, lists)


def _numbers_of(choice: Choice, batch: Any, names: Sequence[str], vectors: bool, before: int) -> Array:
    from thpi.rows import record_values

    for name in () if vectors else names:
        if batch.column(name).null_count:
            row = before + batch.column(name).is_null().to_pylist().index(True)
            raise choice.no_number(f"row {row}, column {name}", float("nan"), name)
    try:
        X = record_values(batch, names, "")
    except ValueError as error:
        column = next((name for name in names if repr(name) in str(error)), None)
        raise choice.error(f"{str(error).removeprefix(repr('') + ' ').rstrip('.')}{choice.hint(column)}.") from None
    if not np.isfinite(X).all():
        row, i = np.argwhere(~np.isfinite(X))[0]
        column = None if vectors else names[i]
        raise choice.no_number(f"row {before + row}, column {column or i}", float(X[row, i]), column)
    return X.astype(np.float64) if vectors else X
