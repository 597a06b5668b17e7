"""Rows of numbers on standard input: JSON lines, or csv."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import numpy as np

from thpi._types import Floats
from thpi.cli._columns import Value, csv_rows
from thpi.cli._tables import Batch, Choice, csv_table

# Rows encoded and searched together; few, so that the first answers come soon.
_ROWS = 256


def read_stdin(key: str | None, features: Sequence[str] | None) -> Iterator[Batch]:
    """Iterate over batches of rows; lines that begin with [ or { are JSON, others csv."""
    rest = (line for line in sys.stdin if line.strip())
    first = next(rest, "")
    lines = chain([first] if first else [], rest)
    if first.lstrip()[:1] in ("[", "{"):
        yield from _json_lines(lines)
    elif first:
        choice = Choice("QUERIES", "-", key, (), None if features is None else tuple(features))
        yield from csv_table(choice, csv_rows("QUERIES", "-", lines), lambda: None, _ROWS).batches


def _json_lines(lines: Iterator[str]) -> Iterator[Batch]:
    number = 0
    while portion := list(islice(lines, _ROWS)):
        rows: list[Floats] = []
        keys: list[Value] = []
        for line in portion:
            vector, name = _vector(line, number)
            if rows and len(vector) != len(rows[0]):
                raise ValueError(
                    f"QUERIES='-' line {number + 1} has {len(vector)} numbers; the first has {len(rows[0])}."
                )
            rows.append(vector)
            keys.append(name)
            number += 1
        yield Batch(np.stack(rows), keys, None)


def _vector(line: str, number: int) -> tuple[Floats, Value]:
    """Read one line: the vector, and its name (by default the number of the line, from 0)."""
    where = f"QUERIES='-' line {number + 1}"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON ({error}).") from None
    name: Value = number
    if isinstance(value, dict):
        name, value = value.get("id", number), value.get("vector")
    try:
        vector = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        vector = np.empty(0)
    if vector.ndim != 1 or len(vector) == 0 or not np.isfinite(vector).all():
        raise ValueError(f'{where} must be a list of finite numbers, or {{"id": ..., "vector": [...]}}.')
    return vector, name
