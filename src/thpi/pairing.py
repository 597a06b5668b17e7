"""Rows of two tables joined by id: which of them are pairs, and which have no partner.

``fit`` takes pairs by position. Tables rarely have their rows in the same order, nor for the same items; :func:`pair`
makes of them what ``fit`` and :func:`thpi.diagnose` take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array, Ints, is_sparse

__all__ = ["Items", "Paired", "PairingReport", "align", "check_index", "check_labels", "default_id", "pair", "stack"]


class Items(NamedTuple):
    """Rows, one id for each, and the names of their columns: a table for those who have no data frame."""

    rows: Any
    ids: Sequence[Any] | None
    columns: Sequence[str] | None = None


class PairingReport(NamedTuple):
    """How many rows of both tables are pairs, and how many have no partner."""

    n_pairs: int
    n_target: int
    n_source: int

    def __str__(self) -> str:
        return (
            f"{self.n_pairs:,} pairs, {self.n_target:,} target rows without a source, "
            f"{self.n_source:,} source rows without a target"
        )


class Paired(NamedTuple):
    """Two tables joined by id. Row i of ``X`` and of ``privileged`` is the item ``ids[i]``, and ``y[i]`` its label.

    ``source`` and ``target`` are the rows without a partner; None if there are none. ``X`` keeps the order of the
    target table. Rows are of the kind that was given, without the column of ids; a pandas frame has them as its index.
    """

    X: Any
    privileged: Any
    source: Any
    target: Any
    ids: Array
    y: Array | None
    report: PairingReport

    @property
    def views(self) -> dict[str, Any]:
        """What ``fit`` takes beside ``X`` and ``y``: ``hasher.fit(paired.X, paired.y, **paired.views)``."""
        return {"privileged": self.privileged, "source": self.source, "target": self.target}


def pair(
    target: Any,
    privileged: Any,
    *,
    source: Any = None,
    labels: Mapping[Any, Any] | Sequence[Any] | str | None = None,
    id: str | None = None,
) -> Paired:
    """Join target rows and source rows by id, whatever their order.

    Parameters
    ----------
    target, privileged : pandas or polars frame, or Items
        Tables of features. Rows with the same id are one item.
    source : the same, or rows without ids, optional
        More source rows. Columns are those of ``privileged``, found by name.
    labels : str, mapping, pandas Series, or sequence, optional
        A column of ``target``; labels by id; a Series, by its index; or one label per row of ``target``. Every pair
        needs one. None, NaN and empty text are no labels.
    id : str, optional
        Column of ids. Default: a column called id; else the index of a pandas frame, if it is not just 0, 1, 2, ...

    Returns
    -------
    Paired
        Ids that occur twice, or that have nothing in common, are errors.

    Examples
    --------
    >>> pictures = Items([[0.1], [0.2], [0.3]], ids=["cap", "shoe", "bag"])
    >>> texts = Items([[5.0], [6.0], [7.0]], ids=["shoe", "hat", "cap"])
    >>> paired = pair(pictures, texts)
    >>> print(paired.report)
    2 pairs, 1 target rows without a source, 1 source rows without a target
    >>> paired.ids.tolist(), paired.privileged.tolist()
    (['cap', 'shoe'], [[7.0], [5.0]])
    """
    named = labels if isinstance(labels, str) else None
    T, S = _items("target", target, id), _items("privileged", privileged, id)
    if named is not None:
        T, labels = _labels_apart(T, named)
    T_names, S_names = _names("target", T.ids), _names("privileged", S.ids)
    more = None if source is None else _items("source", source, id, needed=False)
    if more is not None:
        more = more._replace(rows=align("source", more, "privileged", S))
        if more.ids is not None:
            S_names = _names("privileged and source", [*S_names, *_names("source", more.ids)])
            S, more = S._replace(rows=stack(S.rows, more.rows)), None
    place = {name: at for at, name in enumerate(S_names)}
    partner = np.array([place.get(name, -1) for name in T_names], dtype=np.int64)
    paired, alone = np.flatnonzero(partner >= 0), np.flatnonzero(partner < 0)
    if len(paired) == 0:
        raise ValueError(
            f"no id of target is in privileged: target has {_few(T_names)} and privileged {_few(S_names)}."
        )
    rest = np.setdiff1d(np.arange(len(S_names)), partner)
    unpaired = _take(S.rows, rest) if len(rest) else None
    if more is not None:
        unpaired = more.rows if unpaired is None else stack(unpaired, more.rows)
    ids = _array(T.ids)[paired]
    y = None if labels is None else _labels(labels, [T_names[i] for i in paired], paired, len(T_names))
    n_source = 0 if unpaired is None else int(unpaired.shape[0])
    X, privileged = _take(T.rows, paired), _take(S.rows, partner[paired])
    if hasattr(X, "index") and hasattr(privileged, "index"):
        privileged = privileged.set_axis(X.index, axis=0)  # 7 and "7" are one id: ``fit`` sees that they agree
    return Paired(
        X,
        privileged,
        unpaired,
        _take(T.rows, alone) if len(alone) else None,
        ids,
        y,
        PairingReport(len(paired), len(alone), n_source),
    )


def default_id(columns: Sequence[Any]) -> Any:
    """Return the column called id, in any case, or None.

    >>> default_id(["price", "ID"])
    'ID'
    """
    called = [name for name in columns if isinstance(name, str) and name.lower() == "id"]
    return "id" if "id" in called else called[0] if len(called) == 1 else None


def align(name: str, items: Any, like_name: str, like: Any) -> Any:
    """Return rows with the columns of ``like`` in their order; a missing or another column is an error.

    Rows without names, and rows that are no frame, stay as they are.

    >>> import pandas as pd
    >>> align("source", pd.DataFrame({"b": [1], "a": [2]}), "privileged", pd.DataFrame({"a": [0], "b": [0]})).columns
    Index(['a', 'b'], dtype=...)
    """
    rows = items.rows if isinstance(items, Items) else items
    given, wanted = _columns(items), _columns(like)
    if given is None or wanted is None or given == wanted:
        return rows
    for column in wanted:
        if column not in given:
            raise ValueError(f"{name} has no column {column!r}, which {like_name} has.")
    for column in given:
        if column not in wanted:
            raise ValueError(f"{name} has a column {column!r}, which {like_name} has not.")
    return rows[wanted] if hasattr(rows, "columns") else rows[:, [given.index(column) for column in wanted]]


def _columns(items: Any) -> list[str] | None:
    """Return the names of columns, if all are texts: numbers are just their positions."""
    columns = items.columns if isinstance(items, Items) else None
    if columns is None:
        columns = getattr(items.rows if isinstance(items, Items) else items, "columns", None)
    if columns is None or not all(isinstance(column, str) for column in columns):
        return None
    return list(columns)


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


def check_labels(labels: Sequence[Any], where: Sequence[Any], name: str = "labels") -> None:
    """Refuse labels that are missing; ``where`` names the rows.

    >>> check_labels(["shoe", "", "cap"], ["A", "B", "C"])
    Traceback (most recent call last):
    ValueError: labels: 1 of 3 rows have none ('B'). Label them, or leave them out.
    """
    missing = [row for label, row in zip(labels, where, strict=True) if is_blank(label)]
    if missing:
        text = f"{name}: {len(missing)} of {len(labels)} rows have none ({_few(missing)})"
        raise ValueError(f"{text}. Label them, or leave them out.")


def is_blank(value: Any) -> bool:
    """Whether a value is None, NaN, or text without a visible character."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _items(name: str, table: Any, id: str | None, needed: bool = True) -> Items:
    if isinstance(table, Items):
        return table._replace(rows=table.rows if hasattr(table.rows, "shape") else np.asarray(table.rows))
    columns = getattr(table, "columns", None)
    if columns is None:
        if not needed:
            return Items(table, None)
        raise ValueError(f"{name} has no ids: it must be a pandas or polars frame, or thpi.pairing.Items(rows, ids).")
    column = default_id(list(columns)) if id is None else id if id in list(columns) else None
    index = getattr(table, "index", None)  # pandas
    if column is not None:
        return Items(table.drop(column) if index is None else table.set_index(column), table[column].to_list())
    if index is not None and (not is_default(index) if id is None else index.name == id):
        return Items(table, index.to_list())
    if not needed and id is None:
        return Items(table, None)
    wanted = "called id, nor an index of ids; name one with id=" if id is None else f"{id!r}"
    raise ValueError(f"{name} has no column {wanted}; it has {_few(list(columns))}.")


def is_default(index: Any) -> bool:
    """Whether the index of a pandas frame is just 0, 1, 2, ..."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def check_index(name: str, value: Any, X: Any) -> None:
    """Refuse a pandas frame or series whose index says that its rows are other items than those of ``X``.

    An index that is just 0, 1, 2, ... says nothing, unless both are ranges and one begins elsewhere.
    """
    index, other = getattr(value, "index", None), getattr(X, "index", None)
    if not hasattr(index, "equals") or not hasattr(other, "equals") or index.equals(other):
        return
    both_ranges = type(index).__name__ == type(other).__name__ == "RangeIndex"
    if len(index) == len(other) and (both_ranges or not (is_default(index) or is_default(other))):
        at = next(i for i, (a, b) in enumerate(zip(index, other, strict=True)) if a != b)
        raise ValueError(
            f"{name} has the index {index[at]!r} in row {at} and X has {other[at]!r}; row i of both must be one item. "
            "thpi.pair joins frames by their index."
        )


def _labels_apart(items: Items, name: str) -> tuple[Items, list[Any]]:
    rows = items.rows
    if not hasattr(rows, "columns") or name not in list(rows.columns):
        raise ValueError(f"labels={name!r} must be a column of target.")
    values = rows[name].to_list()
    return items._replace(rows=rows.drop(columns=name) if hasattr(rows, "index") else rows.drop(name)), values


def _names(name: str, ids: Sequence[Any] | None) -> list[str]:
    """Return ids as texts, so that 7 of one table is "7" of another; refuse ids that are blank or occur twice."""
    if ids is None:
        raise ValueError(f"{name} has no ids.")
    for at, value in enumerate(ids):
        if is_blank(value):
            raise ValueError(f"{name} has no id in row {at}.")
        if not isinstance(value, (str, Integral)) or isinstance(value, bool):
            raise ValueError(f"{name} has the id {value!r} in row {at}; ids must be whole numbers or texts.")
    names = [str(value) for value in ids]
    if len(set(names)) < len(names):
        twice = [value for value, n in Counter(names).items() if n > 1]
        raise ValueError(f"{name}: {len(twice)} ids occur more than once: {_few(twice)}.")
    return names


def _array(ids: Any) -> Array:
    return np.array(list(ids), dtype=np.int64 if all(isinstance(value, Integral) for value in ids) else object)


def _few(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:3])) + (", ..." if len(values) > 3 else "")


def _labels(labels: Any, names: list[str], rows: Ints, n: int) -> Array:
    """Return the labels of the pairs, which are the ``rows`` of the n rows of the target table."""
    index = getattr(labels, "index", None)
    if hasattr(index, "to_list") and not is_default(index):  # a Series
        labels = dict(zip(_names("labels", index.to_list()), labels.to_list(), strict=True))
    if isinstance(labels, Mapping):
        by_name = {str(key): value for key, value in labels.items()}
        found = [by_name.get(name) for name in names]
    else:
        values = labels.to_list() if hasattr(labels, "to_list") else list(labels)
        if len(values) != n:
            raise ValueError(f"labels has {len(values)} entries and target {n} rows.")
        found = [values[i] for i in rows]
    check_labels(found, names)
    return np.array(found)


def _take(rows: Any, at: Ints) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[at]
    return rows.tocsr()[at] if is_sparse(rows) else rows[at]
