"""Arrays and columns of files: ``FILE`` or ``FILE:NAME``, and columns of ids or labels, one value per row."""

from __future__ import annotations

import csv
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile, ZipInfo

import numpy as np

from thpi._types import Array, Ints
from thpi.pairing import check_labels, default_id, id_names
from thpi.pairing._ids import is_blank

Value: TypeAlias = "int | float | str"  # an id or a label

NAMED_COLUMNS = (".csv", ".tsv", ".parquet")

_NAMED = re.compile(r"(.+\.(?:npz|csv|tsv|parquet)):([^:/\\]+)", re.IGNORECASE)
# Errors that damaged files of arrays cause.
_UNREADABLE = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError, OverflowError, RuntimeError),
    *(EOFError, BadZipFile, zlib.error, SyntaxError),
)
_MAX_UNPACKED, _USUAL_RATIO = 2**30, 10
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")


def split_spec(spec: str) -> tuple[Path, str | None]:
    """Split ``shop.npz:target`` into the file and the name of an array or column in it."""
    found = None if Path(spec).exists() else _NAMED.fullmatch(spec)
    return (Path(found[1]), found[2]) if found else (Path(spec), None)


def column_of(spec: str, name: str | None) -> str | None:
    """Return ``name`` if it is a column of the table: columns must have names, and there must be no such file.

    >>> column_of("shop.csv", "sku"), column_of("shop.npy", "sku")
    ('sku', None)
    """
    named = Path(spec).suffix.lower() in NAMED_COLUMNS
    return name if named and name is not None and not split_spec(name)[0].exists() else None


def load_array(argument: str, path: Path, name: str | None) -> Any:
    """Return the array of a ``.npy`` file (memory-mapped) or ``.npz`` file, or a matrix of ``scipy.sparse``."""
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            if {"format", "shape", "data"} <= set(loaded.files):
                _check_unpacked(loaded.zip.infolist())
                return _load_sparse(path, loaded)
            if name is None and len(loaded.files) != 1:
                raise ValueError(f"it has the arrays {', '.join(loaded.files)}; choose one: {path}:{loaded.files[0]}")
            name = name or loaded.files[0]
            if name not in loaded.files:
                raise ValueError(f"it has no array {name!r}, only {', '.join(loaded.files)}")
            _check_unpacked([each for each in loaded.zip.infolist() if each.filename in (name, f"{name}.npy")])
            return loaded[name]
    except _UNREADABLE as error:
        raise ValueError(f"{argument}={str(path)!r} is not readable: {one_line(error)}.") from None


def _check_unpacked(members: Sequence[ZipInfo]) -> None:
    """Refuse a small file that would fill the memory. A member is never read beyond the size that it declares."""
    packed, unpacked = (sum(sizes) for sizes in zip(*((m.compress_size, m.file_size) for m in members), strict=True))
    allowed = os.environ.get("THPI_MAX_UNPACKED", str(_MAX_UNPACKED))
    if not allowed.isdecimal():
        raise ValueError(f"THPI_MAX_UNPACKED={allowed!r} must be a number of bytes")
    if unpacked > max(int(allowed), _USUAL_RATIO * packed):
        advice = f"if you trust it, set THPI_MAX_UNPACKED={unpacked}"
        raise ValueError(f"it unpacks from {packed:,} to {unpacked:,} bytes, more than {int(allowed):,}; {advice}")


def _load_sparse(path: Path, loaded: Any) -> Any:
    """Return compressed rows. Every index is checked, because scipy reads and writes memory with them."""
    from scipy import sparse

    for name in {"indices", "indptr", "row", "col", "offsets"} & set(loaded.files):
        if loaded[name].dtype.kind not in "iu":
            raise ValueError(f"its {name} are of type {loaded[name].dtype}, not integers")
    matrix = sparse.load_npz(path)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    rows = sparse.csr_matrix(matrix)
    rows.check_format(full_check=True)
    return rows


def csv_rows(argument: str, spec: str, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Iterate over (line number, cells) of rows that are not blank; the first line decides the delimiter."""
    at = 0
    try:
        lines = iter(lines)
        first = next(lines, "")
        reader = csv.reader(chain([first], lines), delimiter=max(",;\t", key=first.count), strict=True)
        for cells in reader:
            at = reader.line_num
            if any(cell.strip() for cell in cells):
                yield at, cells
    except csv.Error as error:
        raise ValueError(f"{argument}={spec!r} after line {at}: {error}.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{argument}={spec!r} is not UTF-8 text ({error.reason}).") from None


def read_column(argument: str, spec: str) -> list[Value]:
    """Read ids or labels: a 1-D array, a text file with one value per line, or a column: ``FILE:NAME``, else id."""
    path, name = split_spec(spec)
    kind = path.suffix.lower()
    if not path.exists():
        raise ValueError(f"{argument} {spec!r} does not exist.")
    if kind in (".npy", ".npz"):
        array = np.asarray(load_array(argument, path, name))
        if array.ndim != 1 or array.dtype.kind not in "iuUf":
            raise ValueError(f"{argument}={spec!r} has shape {array.shape} and dtype {array.dtype}; it must be 1-D.")
        return list(array.tolist())
    if kind in NAMED_COLUMNS:
        return _read_named(argument, path, lambda header: [_only(argument, spec, header, name or default_id(header))])[
            0
        ]
    with open(path, encoding="utf-8-sig", newline="") as file:
        return [line.strip() for line in file if line.strip()]


def read_labels(
    argument: str, spec: str, data: str, n_rows: int, ids: Sequence[Value] | None, id: str | None
) -> list[Value | None]:
    """Read the labels of the rows of ``data``: by id if the file of labels has ids too, else by position."""
    path, name = split_spec(spec)
    if not path.exists():
        raise ValueError(f"{argument} {spec!r} is neither a file nor a column of {data}.")

    def columns(header: list[str]) -> list[str]:
        key = id if id in header else default_id([each for each in header if each != name])
        if ids is None or key is None:
            return [_only(argument, spec, header, name)]
        return [_only(argument, spec, [each for each in header if each != key], name), key]

    if path.suffix.lower() in NAMED_COLUMNS:
        values, *keys = _read_named(argument, path, columns)
        if keys and ids is not None:
            by_id = dict(zip(id_names(f"{argument} {spec!r}", keys[0]), values, strict=True))
            return [by_id.get(str(each)) for each in ids]
    else:
        values = read_column(argument, spec)
    if len(values) != n_rows:
        raise ValueError(f"{argument} {spec!r} has {len(values)} labels; {data} has {n_rows} rows.")
    return list(values)


def label_texts(argument: str, labels: Sequence[Value | None], rows: Sequence[object]) -> Array:
    """Return labels as texts: so those of csv files and of arrays of integers are equal. Each row must have one."""
    check_labels(labels, rows, argument)
    return np.array([str(label) for label in labels])


def _read_named(argument: str, path: Path, choose: Callable[[list[str]], list[str]]) -> list[list[Value]]:
    """Read columns of a csv or parquet file, chosen by the names of all."""
    if path.suffix.lower() == ".parquet":
        from thpi._optional import require

        parquet = require("pyarrow.parquet", "parquet")
        names = choose(parquet.read_schema(path).names)
        table = parquet.read_table(path, columns=names)
        return [table.column(name).to_pylist() for name in names]
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv_rows(argument, str(path), file)
        header = [cell.strip() for cell in next(rows, (0, [""]))[1]]
        places = [header.index(name) for name in choose(header)]
        columns: list[list[Value]] = [[] for _ in places]
        for line, cells in rows:
            if len(cells) != len(header):
                raise ValueError(
                    f"{argument}={str(path)!r} line {line} has {len(cells)} cells; the first has {len(header)}."
                )
            for column, at in zip(columns, places, strict=True):
                column.append(cells[at])
        return columns


def _only(argument: str, spec: str, columns: list[str], name: str | None) -> str:
    chosen = name if name is not None or len(columns) != 1 else columns[0]
    if chosen not in columns:
        raise ValueError(f"{argument}={spec!r} must name one of the columns {', '.join(columns)}, as FILE:NAME.")
    return chosen


def as_ids(values: Sequence[Value]) -> Ints | list[str]:
    """Read texts as 64-bit integers if all are written as integers; otherwise return texts.

    >>> as_ids(["7", None])
    Traceback (most recent call last):
    ValueError: the id number 1 (counted from 0) is missing.
    """
    blank = next((at for at, value in enumerate(values) if is_blank(value)), None)
    if blank is not None:
        raise ValueError(f"the id number {blank} (counted from 0) is missing.")
    if all(isinstance(value, int) or _WHOLE.fullmatch(str(value)) for value in values):
        numbers = [int(value) for value in values]
        if all(-(2**63) <= number < 2**63 for number in numbers):
            return np.array(numbers, dtype=np.int64)
    return [str(value) for value in values]


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
