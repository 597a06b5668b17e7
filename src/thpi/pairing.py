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

__all__ = ["Items", "Paired", "PairingReport", "UNRELATED_LABELS", "UnrelatedLabelsWarning", "UnrelatedPairsWarning"]
__all__ += ["align", "check_index", "check_labels", "default_id", "id_names", "is_blank", "label_relation", "pair"]
__all__ += ["relation", "relation_of", "stack"]

UNRELATED_LABELS = 0.02
"""Labels that agree with the target as well by chance more often than this are not used."""


class Items(NamedTuple):
    """Rows, one id for each, and the names of their columns: a table for those who have no data frame.

    Errors call it ``name``; without one, by the name of the argument.
    """

    rows: Any
    ids: Sequence[Any] | None
    columns: Sequence[str] | None = None
    name: str = ""


class PairingReport(NamedTuple):
    """How many rows of both tables are pairs, and how many have no partner."""

    n_pairs: int
    n_target: int
    n_source: int

    def __str__(self) -> str:
        alone = f"{self.n_target:,} target rows without a source, {self.n_source:,} source rows without a target"
        return f"{self.n_pairs:,} pairs, {alone}"


class Paired(NamedTuple):
    """Two tables joined by id. Row i of ``X`` and of ``privileged`` is the item ``ids[i]``, and ``y[i]`` its label.

    ``source`` and ``target`` are the rows without a partner, and ``target_ids`` the ids of the latter; None if there
    are none. ``X`` keeps the order of the target table. Rows are of the kind that was given, without the column of ids;
    a pandas frame has them as its index.
    """

    X: Any
    privileged: Any
    source: Any
    target: Any
    ids: Array
    y: Array | None
    report: PairingReport
    target_ids: list[Any] | None = None

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

    ``target`` and ``privileged`` are frames of pandas or polars, or :class:`Items`. Rows with the same id are one item;
    ids that occur twice, or that have nothing in common, are errors. ``source`` has more source rows, with or without
    ids; their columns are those of ``privileged``, found by name.

    ``labels`` are a column of ``target``; labels by id; a pandas Series, by its index; or one label per row of
    ``target``. Every pair needs one. None, NaN and empty text are no labels.

    ``id`` is the column of ids. Default: one called id; else the index of a pandas frame if it is not just 0, 1, 2, ...

    >>> pictures = Items([[0.1], [0.2], [0.3]], ids=["cap", "shoe", "bag"])
    >>> texts = Items([[5.0], [6.0], [7.0]], ids=["shoe", "hat", "cap"])
    >>> paired = pair(pictures, texts)
    >>> print(paired.report)
    2 pairs, 1 target rows without a source, 1 source rows without a target
    >>> paired.ids.tolist(), paired.privileged.tolist()
    (['cap', 'shoe'], [[7.0], [5.0]])
    """
    T, S = _items("target", target, id), _items("privileged", privileged, id)
    if isinstance(labels, str):
        T, labels = _labels_apart(T, labels)
    T_names, S_names = id_names(T.name, T.ids), id_names(S.name, S.ids)
    more = None if source is None else _items("source", source, id, needed=False)
    if more is not None:
        more = more._replace(rows=align(more.name, more, S.name, S))
        if more.ids is not None:
            S_names = id_names(f"{S.name} and {more.name}", [*S_names, *id_names(more.name, more.ids)])
            S, more = S._replace(rows=stack(S.rows, more.rows)), None
    place = {name: at for at, name in enumerate(S_names)}
    partner = np.array([place.get(name, -1) for name in T_names], dtype=np.int64)
    paired, alone = np.flatnonzero(partner >= 0), np.flatnonzero(partner < 0)
    if len(paired) == 0:
        raise ValueError(
            f"no id of {T.name} is in {S.name}: {T.name} has {_few(T_names)}; {S.name} has {_few(S_names)}."
        )
    rest = np.setdiff1d(np.arange(len(S_names)), partner)
    unpaired = _take(S.rows, rest) if len(rest) else None
    if more is not None:
        unpaired = more.rows if unpaired is None else stack(unpaired, more.rows)
    X, privileged = _take(T.rows, paired), _take(S.rows, partner[paired])
    if hasattr(X, "index") and hasattr(privileged, "index"):
        privileged = privileged.set_axis(X.index, axis=0)  # 7 and "7" are one id: ``fit`` sees that they agree
    whole = all(isinstance(value, Integral) for value in T.ids or ())
    ids = np.array(list(T.ids or ()), dtype=np.int64 if whole else object)
    left = _take(T.rows, alone) if len(alone) else None
    y = None if labels is None else _labels(labels, T_names, paired)
    report = PairingReport(len(paired), len(alone), 0 if unpaired is None else int(unpaired.shape[0]))
    left_ids = ids[alone].tolist() if len(alone) else None
    return Paired(X, privileged, unpaired, left, ids[paired], y, report, left_ids)


def _items(name: str, table: Any, id: str | None, needed: bool = True) -> Items:
    if isinstance(table, Items):
        rows = table.rows if hasattr(table.rows, "shape") else np.asarray(table.rows)
        return Items(rows, table.ids, table.columns, table.name or name)
    columns, index = list(getattr(table, "columns", ())), _index_of(table)  # only pandas has an index
    column = default_id(columns) if id is None else id if id in columns else None
    if column is not None:
        rows = table.drop(column) if index is None else table.set_index(column)
        return Items(rows, table[column].to_list(), name=name)
    if index is not None and (not _is_default(index) if id is None else index.name == id):
        return Items(table, index.to_list(), name=name)
    if not needed:
        return Items(table, None, name=name)
    if not hasattr(table, "columns"):
        raise ValueError(f"{name} has no ids: it must be a pandas or polars frame, or thpi.pairing.Items(rows, ids).")
    wanted = "called id, nor an index of ids; name one with id=" if id is None else f"{id!r}"
    raise ValueError(f"{name} has no column {wanted}; it has {_few(columns)}.")


def _labels_apart(items: Items, name: str) -> tuple[Items, list[Any]]:
    rows = items.rows
    if name not in list(getattr(rows, "columns", ())):
        raise ValueError(f"labels={name!r} must be a column of target.")
    values = rows[name].to_list()
    return items._replace(rows=rows.drop(columns=name) if hasattr(rows, "index") else rows.drop(name)), values


def _labels(labels: Any, names: list[str], rows: Ints) -> Array:
    """Return the labels of the pairs, which are ``rows`` of the target table; ``names`` are the ids of all of it."""
    index, wanted = _index_of(labels), [names[i] for i in rows]
    if index is not None and not _is_default(index):
        labels = dict(zip(id_names("labels", index.to_list()), labels.to_list(), strict=True))
    if isinstance(labels, Mapping):
        by_name = {str(key): value for key, value in labels.items()}
        found = [by_name.get(name) for name in wanted]
    else:
        values = labels.to_list() if hasattr(labels, "to_list") else list(labels)
        if len(values) != len(names):
            raise ValueError(f"labels has {len(values)} entries and target {len(names)} rows.")
        found = [values[i] for i in rows]
    check_labels(found, wanted)
    return np.array(found)


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


def _take(rows: Any, at: Ints) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[at]
    return rows.tocsr()[at] if is_sparse(rows) else rows[at]


def _is_default(index: Any) -> bool:
    """Whether the index of a pandas frame is just 0, 1, 2, ..."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def check_index(name: str, value: Any, X: Any) -> None:
    """Refuse a pandas frame or series whose index says that its rows are other items than those of ``X``.

    An index that is just 0, 1, 2, ... says nothing, unless both are ranges and one begins elsewhere.
    """
    index, other = _index_of(value), _index_of(X)
    if index is None or other is None or index.equals(other):
        return
    both_ranges = type(index).__name__ == type(other).__name__ == "RangeIndex"
    if len(index) == len(other) and (both_ranges or not (_is_default(index) or _is_default(other))):
        at = next(i for i, (a, b) in enumerate(zip(index, other, strict=True)) if a != b)
        raise ValueError(
            f"{name} has the index {index[at]!r} in row {at} and X has {other[at]!r}; row i of both must be one item. "
            "thpi.pair joins frames by their index."
        )


def _index_of(value: Any) -> Any:
    """Return the index of a pandas frame or series, else None; a list has a method of that name."""
    index = getattr(value, "index", None)
    return index if hasattr(index, "equals") else None


def default_id(columns: Sequence[Any]) -> Any:
    """Return the column called id, in any case, or None.

    >>> default_id(["price", "ID"])
    'ID'
    """
    called = [name for name in columns if isinstance(name, str) and name.lower() == "id"]
    return "id" if "id" in called else called[0] if len(called) == 1 else None


def id_names(name: str, ids: Sequence[Any] | None, start: int = 0) -> list[str]:
    """Return ids as texts, so that 7 of one table is "7" of another; refuse ids that are blank or occur twice.

    The first of them is in row ``start``.
    """
    if ids is None:
        raise ValueError(f"{name} has no ids.")
    for at, value in enumerate(ids, start):
        if is_blank(value):
            raise ValueError(f"{name} has no id in row {at}.")
        if not isinstance(value, (str, Integral)) or isinstance(value, bool):
            raise ValueError(f"{name} has the id {value!r} in row {at}; ids must be whole numbers or texts.")
    names = [str(value) for value in ids]
    if len(set(names)) < len(names):
        twice = [value for value, n in Counter(names).items() if n > 1]
        raise ValueError(f"{name}: {len(twice)} ids occur more than once: {_few(twice)}.")
    return names


def check_labels(labels: Sequence[Any], where: Sequence[Any], name: str = "labels") -> None:
    """Refuse labels that are missing; ``where`` names the rows.

    >>> check_labels(["shoe", "", "cap"], ["A", "B", "C"])
    Traceback (most recent call last):
    ValueError: labels: 1 of 3 rows have none ('B'). Label them, or leave them out.
    """
    if missing := [row for label, row in zip(labels, where, strict=True) if is_blank(label)]:
        text = f"{name}: {len(missing)} of {len(labels)} rows have none ({_few(missing)})"
        raise ValueError(f"{text}. Label them, or leave them out.")


def is_blank(value: Any) -> bool:
    """Whether a value is None, NaN, or text without a visible character."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _few(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:3])) + (f" and {len(values) - 3:,} more" if len(values) > 3 else "")


class UnrelatedPairsWarning(UserWarning):
    """Neither view of the pairs explains anything of the other: were they joined in the wrong order?"""


class UnrelatedLabelsWarning(UserWarning):
    """The target says nothing about the labels: were they joined in the wrong order?"""


def label_relation(p_value: float) -> str:
    """Return why labels are not used, in words; ``p_value`` as AutoHasher's ``labels_p_``."""
    return (
        "The target says nothing about the labels: as many rows that are near share a label if the labels are shuffled "
        f"(permutation test, p = {p_value:.2g}). Either there are too few labels to show a relation, or they belong to "
        "other rows. AutoHasher does not use such labels."
    )


def relation(n_pairs: int, r2: float) -> str:
    """Return how closely the two views of the pairs are related, in words; ``r2`` as AutoHasher's ``pairs_r2_``.

    >>> relation(200, 0.3)
    'Target and source are related: one explains 30.0 % of the other (ridge regression).'
    """
    from thpi.solvers.loo_ridge import least_r2  # scipy, which reading a table does not need

    if r2 > least_r2(n_pairs):
        return f"Target and source are related: one explains {100 * r2:.1f} % of the other (ridge regression)."
    return (
        f"Target and source of the {n_pairs:,} pairs explain nothing of each other (ridge regression). "
        "Either there are too few pairs to show a relation, or row i of both is not the same item. AutoHasher does "
        "not use such a source, whatever the candidates seem to gain."
    )


def relation_of(n_pairs: int, r2: float) -> tuple[bool, str | None]:
    """Whether the views of a fitted AutoHasher are related, and how, in words; None without a source (r2 = 0)."""
    from thpi.solvers.loo_ridge import least_r2

    return r2 == 0 or r2 > least_r2(n_pairs), None if r2 == 0 else relation(n_pairs, r2)
