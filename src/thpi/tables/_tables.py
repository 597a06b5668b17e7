"""Rows of numbers from files, which may be larger than memory, and from standard input; columns of ids or labels."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from thpi._types import Array, Floats, InMemory, Ints
from thpi.pairing import check_labels, default_id, id_names, is_blank
from thpi.tables import _records as records
from thpi.tables._arrays import load_array
from thpi.tables._choice import NAMED_COLUMNS, Choice, Columns, Names, Value, column_of, split_spec

_KINDS = (".npy", ".npz", *NAMED_COLUMNS)
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_AT_ONCE = 2**16  # bytes of standard input; what is there is answered, without waiting for more


class Batch(NamedTuple):
    """Some rows, their ids, labels and texts, and the share of the file read so far."""

    values: InMemory
    ids: list[Value] | None
    labels: list[Value] | None
    done: float | None
    texts: list[str | None] | None = None


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
    texts: list[str | None] | None = None


def open_table(choice: Choice) -> Table:
    """Open a file of rows. An id that is blank or occurs twice is an error. A file may hold the ids, one per row."""
    if choice.id is not None and column_of(choice.spec, choice.id) is None and split_spec(choice.id)[0].is_file():
        return _with_ids(choice, open_table(choice._replace(id=None)))
    path, name = split_spec(choice.spec)
    kind = path.suffix.lower()
    if kind not in _KINDS:
        raise choice.error(f"must be a {', '.join(_KINDS[:-1])} or {_KINDS[-1]} file.")
    if not path.exists():
        raise choice.error("does not exist.")
    if kind in (".npy", ".npz"):
        choice.check_nameless("has no named columns")
        return _array_table(choice, load_array(choice.argument, path, name))
    if name is not None:
        raise choice.error(f"names one column; rows are read from all of {str(path)!r}.")
    return _table(choice, records.open_records(choice, path), unique=True)


def read_matrix(choice: Choice) -> TableRows:
    """Read all rows; the matrix is memory-mapped or sparse if possible."""
    table = open_table(choice)
    batches = list(table.batches)  # every number is checked
    if not batches:
        raise choice.error("has no rows.")
    if table.whole is not None:
        return TableRows(table.whole, _chained(tuple(batch.ids for batch in batches)), None, None, None)
    values, ids, labels, _, texts = zip(*batches, strict=True)
    X = np.concatenate(values)
    return TableRows(X, _chained(ids), _chained(labels), table.names, table.columns, _chained(texts))


def read_stdin(id: str | None, features: Names) -> Iterator[Batch]:
    """Iterate over batches of rows, as they come; lines that begin with [ or { are JSON, others csv."""
    choice, raw = Choice("QUERIES", "-", id, features=features), cast("io.BufferedReader", sys.stdin.buffer)
    first = next((line for line in raw if line.strip()), b"")

    def take() -> bytes:
        return raw.read1(_AT_ONCE)

    if first.lstrip()[:1] in (b"[", b"{"):
        return _json_batches(choice, records.chunks(take, first, lambda data: data.rfind(b"\n") + 1))
    return _table(choice, records.open_csv(choice, raw, take, lambda: None, first), unique=False).batches


def _chained(parts: tuple[list[Any] | None, ...]) -> list[Any] | None:
    return None if parts[0] is None else list(chain.from_iterable(part or [] for part in parts))


def _table(choice: Choice, file: records.Records, unique: bool) -> Table:
    columns = choice.of(file.names) if file.named else None
    if columns is None:
        choice.check_nameless("has no line of names")
    numbers = file.names if columns is None else columns.features
    apart = (None, None, None) if columns is None else (columns.id, columns.labels, columns.text)

    def batches() -> Iterator[Batch]:
        start, seen = 0, set[str]()
        for part in file.read(numbers, [name for name in apart if name is not None]):
            ids, labels, texts = (None if name is None else part.others[name] for name in apart)
            if start == 0 and columns is not None:
                _check_identifiers(choice, columns, part.numbers)
            if unique and ids is not None:
                name = f"{choice.argument}={choice.spec!r}"
                found = id_names(name, ids, start)
                if again := seen.intersection(found):
                    raise ValueError(f"{name}: {len(again)} ids occur more than once: {min(again)!r}.")
                seen.update(found)
            start += len(part.numbers)
            yield Batch(part.numbers, ids, labels, part.done, texts)

    # A column of vectors has no names of features.
    vectors = len(numbers) == 1 and numbers[0] in file.lists
    return Table(columns, None if columns is None or vectors else columns.features, batches())


def _with_ids(choice: Choice, table: Table) -> Table:
    """Rows whose ids are in a file of their own."""
    ids = read_column("--id", choice.id or "")
    id_names(f"--id {choice.id!r}", ids)

    def batches() -> Iterator[Batch]:
        start = 0
        for batch in table.batches:
            stop = start + batch.values.shape[0]
            yield batch._replace(ids=ids[start:stop])
            start = stop
        if len(ids) != start:
            raise ValueError(f"--id {choice.id!r} has {len(ids)} ids; {choice.argument} has {start} rows.")

    return table._replace(batches=batches())


def _check_identifiers(choice: Choice, columns: Columns, X: Array) -> None:
    """Refuse a feature that is called like an identifier, and whose numbers are whole and all different."""
    for name in choice.suspects(columns):
        values = X[:, columns.features.index(name)] if len(columns.features) == X.shape[1] else X[:0, 0]
        if len(values) > 1 and (values == np.rint(values)).all() and len(np.unique(values)) == len(values):
            apart = "" if choice.ignore is None else f", --ignore {name} if it is nothing to learn from"
            kept = "" if choice.kept is None else f", --feature {name} if it is a feature"
            own = f"It is not the column of ids, which is {columns.id!r}"
            own = f"--id {name} if it names the items" if columns.id is None else own
            raise choice.error(f"column {name} looks like ids: whole numbers, all different. {own}{apart}{kept}.")


def _array_table(choice: Choice, array: InMemory) -> Table:
    if len(array.shape) != 2 or array.dtype.kind not in "fiub" or 0 in array.shape:
        what = "codes, not vectors" if array.dtype.names else f"an array of shape {array.shape}, dtype {array.dtype}"
        raise choice.error(f"holds {what}; it must be a 2-D array of numbers, one row per item.")

    def batches() -> Iterator[Batch]:
        n, step = array.shape[0], max(1, records.PORTION // array.shape[1])
        for start in range(0, n, step):
            part = array[start : start + step]
            numbers = part.data if hasattr(part, "tocsr") else part
            if not np.isfinite(numbers).all():
                row = next((i for i, values in enumerate(np.asarray(part)) if not np.isfinite(values).all()), 0)
                raise choice.error(f"row {start + row} holds a NaN or an infinity.")
            yield Batch(part, None, None, min(1.0, (start + step) / n))

    return Table(None, None, batches(), array)


def _json_batches(choice: Choice, chunks: Iterator[bytes]) -> Iterator[Batch]:
    number = width = 0
    for chunk in chunks:
        rows: list[Floats] = []
        keys: list[Value] = []
        for line in filter(bytes.strip, chunk.splitlines()):
            vector, name = _json_vector(choice, line, number)
            number, width = number + 1, width or len(vector)
            if len(vector) != width:
                raise choice.error(f"line {number} has {len(vector)} numbers; the first has {width}.")
            rows.append(vector)
            keys.append(name)
        if rows:
            yield Batch(np.stack(rows), keys, None, None)


def _json_vector(choice: Choice, line: bytes, number: int) -> tuple[Floats, Value]:
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
        (values,) = _named(argument, path, lambda names: [_only(argument, spec, names, name or default_id(names))])
        return values
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

    table = path.suffix.lower() in NAMED_COLUMNS
    values, *keys = _named(argument, path, columns) if table else [read_column(argument, spec)]
    if keys and ids is not None:
        by_id = dict(zip(id_names(f"{argument} {spec!r}", keys[0]), values, strict=True))
        return [by_id.get(str(each)) for each in ids]
    if len(values) != n_rows:
        raise ValueError(f"{argument} {spec!r} has {len(values)} labels; {data} has {n_rows} rows.")
    return list(values)


def label_texts(argument: str, labels: Sequence[Value | None], rows: Sequence[object]) -> Array:
    """Return labels as texts: so those of csv files and of arrays of integers are equal. Each row must have one."""
    check_labels(labels, rows, argument)
    return np.array([str(label) for label in labels])


def _named(argument: str, path: Path, choose: Callable[[list[str]], list[str]]) -> list[list[Any]]:
    """Read columns of a table, chosen by the names of all."""
    file = records.open_records(Choice(argument, str(path)), path)
    names = choose(file.names)
    parts = [part.others for part in file.read((), names)]
    return [[value for part in parts for value in part[name]] for name in names]


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
    if blank := [at for at, value in enumerate(values) if is_blank(value)]:
        raise ValueError(f"the id number {blank[0]} (counted from 0) is missing.")
    if all(isinstance(value, int) or _WHOLE.fullmatch(str(value)) for value in values):
        numbers = [int(value) for value in values]
        if all(-(2**63) <= number < 2**63 for number in numbers):
            return np.array(numbers, dtype=np.int64)
    return [str(value) for value in values]
