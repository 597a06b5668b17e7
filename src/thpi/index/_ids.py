"""Ids of items: 64-bit integers or strings, one kind an index, each id once."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["IdKind", "IdPositions", "check_ids", "check_unique", "id_kind"]

Array = npt.NDArray[Any]
IdKind = Literal["int64", "string"]

# Ids kept in a dict before they are merged into the sorted arrays: a dict entry takes ten times the memory.
_RECENT = 4096


def check_ids(ids: Any, *, length: int | None = None, kind: IdKind | None = None) -> Array:
    """Return ``ids`` as a 1-D int64 array or an object array of ``str``, or say what is wrong with them.

    >>> check_ids([3, 1]), check_ids(["a", "b"])
    (array([3, 1]), array(['a', 'b'], dtype=object))
    """
    if isinstance(ids, (str, bytes)):
        raise ValueError(f"ids={ids!r} must be a sequence of ids, not one id.")
    array = np.asarray(ids if hasattr(ids, "__array__") else list(ids))
    if array.ndim != 1:
        raise ValueError(f"ids must be 1-D, got shape {array.shape}.")
    if length is not None and len(array) != length:
        raise ValueError(f"ids has {len(array)} entries for {length} codes; there must be one id a code.")
    if len(array) == 0:
        return np.empty(0, dtype=object if kind == "string" else np.int64)
    checked = _strings(array, ids) if array.dtype.kind in "OUST" else _integers(array)
    if kind is not None and id_kind(checked) != kind:
        raise ValueError(
            f"ids={checked[:1].tolist()[0]!r}, ... are of kind {id_kind(checked)}; the ids stored here are {kind}."
        )
    return checked


def _integers(array: Array) -> Array:
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"ids must be integers or strings, got dtype {array.dtype} (first: {array[:1].tolist()[0]!r})."
        )
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"ids={int(array.max())} does not fit into a signed 64-bit integer.")
    return array.astype(np.int64)


def _strings(array: Array, original: Any) -> Array:
    # numpy turns a list that mixes numbers and strings into strings; the list itself still tells.
    values = original if isinstance(original, (list, tuple)) else array.tolist()
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f"ids must be all integers of 64 bits or all strings, got {value!r} among them.")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"ids={value!r} is not valid Unicode text (a lone surrogate).") from None
    strings = np.empty(len(values), dtype=object)
    strings[:] = [str(value) for value in values]
    return strings


def id_kind(ids: Array) -> IdKind:
    """Tell the kind of a checked array of ids.

    >>> id_kind(check_ids(["a"]))
    'string'
    """
    return "string" if ids.dtype == object else "int64"


def check_unique(ids: Array) -> None:
    """Refuse a checked array in which an id stands twice, and name the id."""
    if id_kind(ids) == "int64":
        ordered = np.sort(ids)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice):
            raise ValueError(f"ids={int(twice[0])!r} stands more than once among the ids given.")
    elif len(set(ids)) < len(ids):
        first_at = {value: position for position, value in reversed(list(enumerate(ids)))}
        again = next(value for position, value in enumerate(ids) if first_at[value] != position)
        raise ValueError(f"ids={again!r} stands more than once among the ids given.")


class IdPositions:
    """Where each id stands: sorted arrays for most integers, a dict for recent ones and for strings."""

    def __init__(self, ids: Array) -> None:
        self._recent: dict[Any, int] = {}
        self._sorted = np.empty(0, dtype=np.int64)
        self._order = np.empty(0, dtype=np.int64)
        self.append(ids, 0)

    def append(self, ids: Array, start: int) -> None:
        """Note that ``ids`` stand at ``start`` and after; what stood before is known already."""
        if id_kind(ids) == "string" or len(self._recent) + len(ids) <= _RECENT + len(self._sorted) // 8:
            self._recent.update(zip(ids.tolist(), range(start, start + len(ids)), strict=True))
            return
        recent_ids = np.fromiter(self._recent.keys(), dtype=np.int64, count=len(self._recent))
        recent_positions = np.fromiter(self._recent.values(), dtype=np.int64, count=len(self._recent))
        merged = np.concatenate([self._sorted, recent_ids, ids])
        positions = np.concatenate([self._order, recent_positions, np.arange(start, start + len(ids))])
        order = np.argsort(merged, kind="stable")
        self._sorted, self._order, self._recent = merged[order], positions[order], {}

    def find(self, ids: Array) -> npt.NDArray[np.int64]:
        """Give the position of each id, -1 where it is not known.

        >>> IdPositions(np.array([5, 3])).find(np.array([3, 4, 5]))
        array([ 1, -1,  0])
        """
        found = np.full(len(ids), -1, dtype=np.int64)
        if len(self._sorted) and id_kind(ids) == "int64":
            at = np.minimum(np.searchsorted(self._sorted, ids), len(self._sorted) - 1)
            found = np.where(self._sorted[at] == ids, self._order[at], -1)
        if self._recent:
            recent = [self._recent.get(value, -1) for value in ids.tolist()]
            found = np.maximum(found, np.array(recent, dtype=np.int64))
        return found
