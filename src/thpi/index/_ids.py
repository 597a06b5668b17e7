"""Ids (64-bit integers or strings, one kind per index, each id once), their positions, and what searches return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Ints

IdKind = Literal["int64", "string"]
IdsLike: TypeAlias = "npt.ArrayLike | Iterable[object]"

# Ids kept in a dict before they are merged into sorted arrays, which take a tenth of the memory.
_RECENT = 4096


class Neighbours(NamedTuple):
    """Distances and ids of the items found, nearest first: arrays of shape (n_queries, min(k, number of items))."""

    distances: Array
    ids: Array

    def without(self, item: int | str, k: int) -> Neighbours:
        """Return the ``k`` nearest of one query without ``item``, which is not its own neighbour.

        >>> Neighbours(np.array([[0, 0, 3]]), np.array([[7, 8, 9]])).without(8, 2)
        Neighbours(distances=array([[0, 3]]), ids=array([[7, 9]]))
        """
        kept = [place for place, other in enumerate(self.ids[0].tolist()) if other != item][:k]
        return Neighbours(self.distances[:, kept], self.ids[:, kept])


def check_ids(ids: IdsLike, *, length: int | None = None, kind: IdKind | None = None, unique: bool = False) -> Array:
    """Return ``ids`` as a 1-D int64 array or an object array of ``str``.

    >>> check_ids([3, 1]), check_ids(["a", "b"])
    (array([3, 1]), array(['a', 'b'], dtype=object))
    """
    if isinstance(ids, (str, bytes)):
        raise ValueError(f"ids={ids!r} must be a sequence of ids, not one id.")
    array = np.asarray(ids if hasattr(ids, "__array__") else list(ids))  # type: ignore[arg-type]
    if array.ndim != 1:
        raise ValueError(f"ids must be 1-D, got shape {array.shape}.")
    if length is not None and len(array) != length:
        raise ValueError(f"ids has {len(array)} entries for {length} codes; there must be one id per code.")
    if len(array) == 0:
        return np.empty(0, dtype=object if kind == "string" else np.int64)
    checked = _strings(array, ids) if array.dtype.kind in "OUST" else _integers(array)
    _check_kind(checked, kind)
    if unique:
        check_unique(checked)
    return checked


def number_on(known: Array, n: int) -> Array:
    """Return ``n`` ids from the largest known one on, at least from 0."""
    if len(known) and id_kind(known) == "string":
        raise ValueError("ids=None numbers the codes, but the ids stored here are strings; pass ids.")
    first = max(0, int(known.max()) + 1) if len(known) else 0
    if first + n - 1 > np.iinfo(np.int64).max:
        raise ValueError(f"ids=None would number on from {first}, beyond 64 bits; pass ids.")
    return np.arange(first, first + n, dtype=np.int64)


def _check_kind(ids: Array, kind: IdKind | None) -> None:
    if kind not in (None, id_kind(ids)):
        raise ValueError(f"ids={_first(ids)!r}, ... are of kind {id_kind(ids)}; the ids stored here are {kind}.")


def _first(ids: Array) -> object:
    return ids[:1].tolist()[0]


def _integers(array: Array) -> Array:
    if array.dtype.kind not in "iu":
        raise ValueError(f"ids must be integers or strings, got dtype {array.dtype} (first: {_first(array)!r}).")
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"ids={int(array.max())} does not fit into a signed 64-bit integer.")
    return array.astype(np.int64)


def _strings(array: Array, original: object) -> Array:
    # numpy turns a list of numbers and strings into strings, so check the list itself.
    values = original if isinstance(original, (list, tuple)) else array.tolist()
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f"ids must be all integers of 64 bits or all strings, got {value!r} among them.")
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        wrong = next(value for value in values if any("\ud800" <= sign <= "\udfff" for sign in value))
        raise ValueError(f"ids={wrong!r} is not valid Unicode text (a lone surrogate).") from None
    return np.array([str(value) for value in values], dtype=object)


def id_kind(ids: Array) -> IdKind:
    """Return the kind of ids that :func:`check_ids` returned, ``"int64"`` or ``"string"``."""
    return "string" if ids.dtype == object else "int64"


def check_unique(ids: Array) -> None:
    values = ids.tolist()
    if len(set(values)) < len(values):
        again = next(value for value, n in Counter(values).items() if n > 1)
        raise ValueError(f"ids={again!r} occurs more than once among the ids given.")


class IdPositions:
    """Position of each id: sorted arrays for most integers, a dict for recent ones and for strings."""

    def __init__(self, ids: Array) -> None:
        self._recent: dict[Any, int] = {}
        self._sorted = self._order = np.empty(0, dtype=np.int64)
        self.append(ids, 0)

    def append(self, ids: Array, start: int) -> None:
        if id_kind(ids) == "string" or len(self._recent) + len(ids) <= _RECENT + len(self._sorted) // 8:
            self._recent.update(zip(ids.tolist(), range(start, start + len(ids)), strict=True))
            return
        recent, places = (np.fromiter(part, dtype=np.int64) for part in (self._recent.keys(), self._recent.values()))
        merged = np.concatenate([self._sorted, recent, ids])
        positions = np.concatenate([self._order, places, np.arange(start, start + len(ids))])
        order = np.argsort(merged, kind="stable")
        self._sorted, self._order, self._recent = merged[order], positions[order], {}

    def find(self, ids: Array) -> Ints:
        """Return the position of each id, -1 if it is unknown."""
        found = np.full(len(ids), -1, dtype=np.int64)
        if len(self._sorted) and id_kind(ids) == "int64":
            at = np.minimum(np.searchsorted(self._sorted, ids), len(self._sorted) - 1)
            found = np.where(self._sorted[at] == ids, self._order[at], -1)
        if self._recent:
            recent = [self._recent.get(value, -1) for value in ids.tolist()]
            found = np.maximum(found, np.array(recent, dtype=np.int64))
        return found

    def find_all(self, ids: Array) -> Ints:
        """Return the position of each id; an unknown id is a ``KeyError`` that names it."""
        positions = self.find(ids)
        if (positions < 0).any():
            raise KeyError(f"ids={_first(ids[positions < 0])!r} is not among the items.")
        return positions

    def check_new(self, ids: Array, kind: IdKind | None) -> None:
        """Raise ``ValueError`` unless checked ids are of this kind, each is there once, and none is known."""
        _check_kind(ids, kind)
        check_unique(ids)
        if (known := self.find(ids) >= 0).any():
            raise ValueError(f"ids={_first(ids[known])!r} is in the index already; remove it first.")
