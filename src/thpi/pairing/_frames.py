"""Rows with names: data frames of pandas and polars, and arrays with ids and columns beside them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Ints, is_sparse


class Items(NamedTuple):
    """Rows, one id for each, and the names of their columns: a table for those who have no data frame.

    Errors call it ``name``; without one, by the name of the argument.
    """

    rows: Any
    ids: Sequence[Any] | None
    columns: Sequence[str] | None = None
    name: str = ""


def align(name: str, items: Any, like_name: str, like: Any) -> Any:
    """Return rows with the columns of ``like`` in their order; a missing or another column is an error.

    Rows without names, and rows that are no frame, stay as they are.

    >>> import pandas as pd
    >>> align("source", pd.DataFrame({"b": [1], "a": [2]}), "privileged", pd.DataFrame({"a": [0], "b": [0]})).columns
    Index(['a', 'b'], dtype=...)
    """
    rows = items.rows if isinstance(items, Items) else items
    given, wanted = _columns_of(items), _columns_of(like)
    if given is None or wanted is None or given == wanted:
        return rows
    if missing := [column for column in wanted if column not in given]:
        raise ValueError(f"{name} has no column {missing[0]!r}, which {like_name} has.")
    if others := [column for column in given if column not in wanted]:
        raise ValueError(f"{name} has a column {others[0]!r}, which {like_name} has not.")
    return rows[wanted] if hasattr(rows, "columns") else rows[:, [given.index(column) for column in wanted]]


def _columns_of(items: Any) -> list[str] | None:
    """Return the names of columns, if all are texts: numbers are just their positions."""
    rows, columns = (items.rows, items.columns) if isinstance(items, Items) else (items, None)
    columns = getattr(rows, "columns", None) if columns is None else columns
    return None if columns is None or not all(isinstance(name, str) for name in columns) else list(columns)


def stack(first: Any, second: Any) -> Any:
    """Put rows below rows: two frames, two sparse matrices, rows in blocks below an array, else two arrays."""
    package = type(first).__module__.partition(".")[0]
    if hasattr(first, "columns") and type(first) is type(second):
        options = {"how": "vertical_relaxed"} if package == "polars" else {}
        return import_module(package).concat([first, second], **options)
    if hasattr(second, "below"):
        return second.below(first.toarray() if is_sparse(first) else np.asarray(first))
    if is_sparse(first) or is_sparse(second):
        from scipy import sparse

        return sparse.vstack([first, second], format="csr")
    return np.vstack([np.asarray(first), np.asarray(second)])


def take(rows: Any, at: Ints) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[at]
    return rows.tocsr()[at] if is_sparse(rows) else rows[at]


def is_default(index: Any) -> bool:
    """Whether the index of a pandas frame is just 0, 1, 2, ..."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def check_index(name: str, value: Any, X: Any) -> None:
    """Refuse a pandas frame or series whose index says that its rows are other items than those of ``X``.

    An index that is just 0, 1, 2, ... says nothing, unless both are ranges and one begins elsewhere.
    """
    index, other = index_of(value), index_of(X)
    if index is None or other is None or index.equals(other):
        return
    both_ranges = type(index).__name__ == type(other).__name__ == "RangeIndex"
    if len(index) == len(other) and (both_ranges or not (is_default(index) or is_default(other))):
        at = next(i for i, (a, b) in enumerate(zip(index, other, strict=True)) if a != b)
        raise ValueError(
            f"{name} has the index {index[at]!r} in row {at} and X has {other[at]!r}; row i of both must be one item. "
            "thpi.pair joins frames by their index."
        )


def index_of(value: Any) -> Any:
    """Return the index of a pandas frame or series, else None; a list has a method of that name."""
    index = getattr(value, "index", None)
    return index if hasattr(index, "equals") else None
