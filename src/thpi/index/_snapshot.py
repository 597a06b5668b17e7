"""The stored codes as a sequence of snapshots: readers keep one while the writer makes the next."""

from __future__ import annotations

import numpy as np

from thpi._types import Array, Bools, Codes
from thpi.codes import n_bytes


class Snapshot:
    """Codes and ids in insertion order. Immutable, so any thread may read it without a lock.

    ``append`` writes into spare room behind the rows of this snapshot and returns a new snapshot that includes them;
    only the newest snapshot may be appended to. The room doubles when it is full, so adding n rows one by one copies
    O(n) rows in total.

    >>> first = Snapshot.empty(8)
    >>> second = first.append(np.array([[3]], dtype=np.uint8), np.array([7]))
    >>> len(first), len(second), second.ids
    (0, 1, array([7]))
    """

    def __init__(self, codes: Codes, ids: Array, length: int) -> None:
        self._codes_room, self._ids_room = codes, ids
        self.codes = codes[:length]
        self.ids = ids[:length]
        for shown in (self.codes, self.ids):
            shown.flags.writeable = False

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def empty(cls, n_bits: int) -> Snapshot:
        """Return a snapshot without rows."""
        return cls(np.empty((0, n_bytes(n_bits)), dtype=np.uint8), np.empty(0, dtype=np.int64), 0)

    def append(self, codes: Codes, ids: Array) -> Snapshot:
        """Return a snapshot with ``codes`` and ``ids`` after the rows of this one."""
        start, stop = len(self), len(self) + len(codes)
        codes_room, ids_room = self._codes_room, self._ids_room
        if stop > len(codes_room) or ids_room.dtype != ids.dtype:
            room = max(stop, 2 * start if start else stop)
            codes_room = np.empty((room, self.codes.shape[1]), dtype=np.uint8)
            ids_room = np.empty(room, dtype=ids.dtype)
            codes_room[:start] = self.codes
            ids_room[:start] = self.ids
        codes_room[start:stop] = codes
        ids_room[start:stop] = ids
        return Snapshot(codes_room, ids_room, stop)

    def keep(self, kept: Bools) -> Snapshot:
        """Return a snapshot of the rows marked in ``kept``, in the same order."""
        codes, ids = self.codes[kept], self.ids[kept]
        return Snapshot(codes, ids, len(codes))
