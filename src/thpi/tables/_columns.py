"""Columns of ids or labels, one value per row: from arrays, text files and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thpi._types import Array, Ints
from thpi.pairing import check_labels, default_id, id_names, is_blank
from thpi.tables._arrays import load_array
from thpi.tables._choice import NAMED_COLUMNS, Choice, Value, split_spec
from thpi.tables._records import open_records

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")


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
    file = open_records(Choice(argument, str(path)), path)
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
