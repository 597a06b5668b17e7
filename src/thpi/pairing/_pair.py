"""Two tables joined by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array, Ints
from thpi.pairing._frames import Items, align, index_of, is_default, stack, take
from thpi.pairing._ids import check_labels, default_id, few, id_names


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
        raise ValueError(f"no id of {T.name} is in {S.name}: {T.name} has {few(T_names)}; {S.name} has {few(S_names)}.")
    rest = np.setdiff1d(np.arange(len(S_names)), partner)
    unpaired = take(S.rows, rest) if len(rest) else None
    if more is not None:
        unpaired = more.rows if unpaired is None else stack(unpaired, more.rows)
    X, privileged = take(T.rows, paired), take(S.rows, partner[paired])
    if hasattr(X, "index") and hasattr(privileged, "index"):
        privileged = privileged.set_axis(X.index, axis=0)  # 7 and "7" are one id: ``fit`` sees that they agree
    whole = all(isinstance(value, Integral) for value in T.ids or ())
    ids = np.array(list(T.ids or ()), dtype=np.int64 if whole else object)
    return Paired(
        X,
        privileged,
        unpaired,
        take(T.rows, alone) if len(alone) else None,
        ids[paired],
        None if labels is None else _labels(labels, T_names, paired),
        PairingReport(len(paired), len(alone), 0 if unpaired is None else int(unpaired.shape[0])),
        ids[alone].tolist() if len(alone) else None,
    )


def _items(name: str, table: Any, id: str | None, needed: bool = True) -> Items:
    if isinstance(table, Items):
        rows = table.rows if hasattr(table.rows, "shape") else np.asarray(table.rows)
        return Items(rows, table.ids, table.columns, table.name or name)
    columns, index = list(getattr(table, "columns", ())), index_of(table)  # only pandas has an index
    column = default_id(columns) if id is None else id if id in columns else None
    if column is not None:
        rows = table.drop(column) if index is None else table.set_index(column)
        return Items(rows, table[column].to_list(), name=name)
    if index is not None and (not is_default(index) if id is None else index.name == id):
        return Items(table, index.to_list(), name=name)
    if not needed:
        return Items(table, None, name=name)
    if not hasattr(table, "columns"):
        raise ValueError(f"{name} has no ids: it must be a pandas or polars frame, or thpi.pairing.Items(rows, ids).")
    wanted = "called id, nor an index of ids; name one with id=" if id is None else f"{id!r}"
    raise ValueError(f"{name} has no column {wanted}; it has {few(columns)}.")


def _labels_apart(items: Items, name: str) -> tuple[Items, list[Any]]:
    rows = items.rows
    if name not in list(getattr(rows, "columns", ())):
        raise ValueError(f"labels={name!r} must be a column of target.")
    values = rows[name].to_list()
    return items._replace(rows=rows.drop(columns=name) if hasattr(rows, "index") else rows.drop(name)), values


def _labels(labels: Any, names: list[str], rows: Ints) -> Array:
    """Return the labels of the pairs, which are ``rows`` of the target table; ``names`` are the ids of all of it."""
    index, wanted = index_of(labels), [names[i] for i in rows]
    if index is not None and not is_default(index):
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
