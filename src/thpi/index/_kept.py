"""The part of HammingIndex that changes: memory and file stay in step, whatever interrupts a change.

A change is written to the file first, then made in memory. ``_settled`` is False in between. If anything breaks a
change off there (a full disk, Ctrl-C), it stays False, and the next change first reads the file anew, which has the
change as a whole or not at all.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np

from thpi._types import Array, Codes, Ints, PathLike
from thpi.identity import check_same_model
from thpi.index._file import IndexFile
from thpi.index._follow import Follower
from thpi.index._format import Contents, Header, IndexFileError, Record
from thpi.index._ids import IdKind, IdPositions, id_kind
from thpi.index._searching import Searching, State


class Kept(Searching):
    """Codes with ids, in memory only or also in a file."""

    def __init__(self, n_bits: int, recall: float | None, random_state: int, model: str | None) -> None:
        super().__init__(n_bits, recall, random_state)
        self.model = model
        self._positions: IdPositions = IdPositions(self._state.rows.ids)
        self._file: IndexFile | None = None  # of mode "a"
        self._follower: Follower | None = None  # of modes "r" and "shared"
        self._read_only: str | None = None
        self._wait: float = 0.0
        self._settled = True

    def __len__(self) -> int:
        return len(self._state.rows)

    @property
    def ids(self) -> Array:
        """All ids, in insertion order."""
        return self._state.rows.ids

    @property
    def codes(self) -> Codes:
        """All codes, in insertion order."""
        return self._state.rows.codes

    @property
    def id_kind(self) -> IdKind | None:
        """``"int64"`` or ``"string"``, None while the index is empty."""
        return id_kind(self.ids) if len(self) else None

    @property
    def version(self) -> str | None:
        """What the file held when last read or written, 16 hexadecimal digits; None without a file."""
        if self._follower is not None and self._follower.place is not None:
            return self._follower.place.known.digest.hex()[:16]
        return None if self._file is None else self._file.digest.hex()[:16]

    def refresh(self) -> bool:
        """Take over what others have added to the file or removed from it; return whether anything changed.

        For modes ``"r"`` and ``"shared"``. Searches that run finish on what they began with. If the file is gone,
        damaged, or of another width or model, that error is raised, and the index stays as it was.
        """
        if self._follower is None:
            return False
        with self._follower.lock:
            before = self.version
            self._catch_up()
            return self.version != before

    def save(self, path: PathLike | None = None) -> None:
        """Write the index to ``path`` in one step: a kill at any moment leaves the old file or the new one.

        Without ``path``, an index opened with mode ``"a"`` rewrites its own file without the removed items.
        """
        own = None if self._read_only is not None else self._file or self._follower
        path = self._file.path if path is None and own is self._file is not None else path
        if path is None:
            raise ValueError("path=None needs an index opened with mode='a'; pass a path.")
        if own is None or not _same(path, own.path):
            state = self._state
            IndexFile.replace(path, self._header(state), state.rows.codes, state.rows.ids, owned=False).close()
            return
        with self._changing() as file:
            assert file is not None
            state, self._settled = self._state, False
            written = file.rewrite(self._header(state), state.rows.codes, state.rows.ids)
            if self._file is None:
                written.close()
            else:
                self._file = written
                file.close()

    def close(self) -> None:
        """Close the file of an index opened with mode ``"a"`` or ``"shared"``; it has every change already."""
        with self._writing:
            if self._follower is not None:
                self._read_only = os.fspath(self._follower.path)
            if self._file is not None:
                self._read_only = os.fspath(self._file.path)
                self._file.close()
            self._file = None

    @contextmanager
    def _changing(self) -> Iterator[IndexFile | None]:
        """Hold the locks for a change, and give the file to write to, if there is one."""
        if self._read_only is not None:
            raise ValueError(f"{self._read_only!r} was opened with mode='r'; open it with mode='a' to change it.")
        if self._follower is None:
            with self._writing:
                self._settle()
                yield self._file
                self._settled = True
            return
        with self._follower.lock:
            with self._follower.writing(self._wait, self._catch_up) as file, self._writing:
                yield file
            self._settled = True

    def _commit(self, file: IndexFile | None, record: Record) -> None:
        """Make a change that was checked, in the file and in memory; within ``_changing``."""
        self._settled = False
        if file is not None:
            file.append(record)
        if record.kind == "a":
            self._append(record.codes, record.ids)
        else:
            self._drop(self._positions.find_all(record.ids))

    def _settle(self) -> None:
        """Bring memory and the own file in step again, if a change was broken off."""
        if self._settled:
            return
        if self._file is None:
            self._positions = IdPositions(self.ids)
        else:
            self._file, contents = self._file.again(self._wait)
            self._replace(self._from_contents(contents))
        self._settled = True

    def _known(self) -> IdPositions:
        """Return the positions of ids in the current rows; the caller holds ``_writing``."""
        return self._positions if self._settled else IdPositions(self.ids)

    def _catch_up(self, locked: IO[bytes] | None = None) -> None:
        assert self._follower is not None
        news, place = self._follower.news(locked) if self._settled else self._follower.first(locked)
        if isinstance(news, Contents):
            self._replace(self._from_contents(news))
        else:
            with self._writing:
                self._settled = False
                self._apply(news)
        self._follower.place = place
        self._settled = True

    def _replace(self, fresh: Kept) -> None:
        if fresh.n_bits != self.n_bits:
            raise IndexFileError(f"the index file now holds codes of {fresh.n_bits} bits, before of {self.n_bits}.")
        check_same_model(("the index that was opened", self.model), ("the index file now", fresh.model))
        if self._state.approximate is not None and fresh.report_ is not None:
            fresh._tuned_for(fresh._state, fresh.report_.k)  # here, not in the first search
        with self._writing:
            self._settled = False
            self.recall, self.random_state = fresh.recall, fresh.random_state
            self._positions, self._state = fresh._positions, fresh._state

    def _apply(self, records: list[Record]) -> None:
        for kind, ids, codes in records:
            if kind == "r":
                self._drop(self._positions.find_all(ids))
            elif len(ids):
                self._positions.check_new(ids, self.id_kind)
                self._append(codes, ids)

    def _append(self, codes: Codes, ids: Array) -> None:
        self._positions.append(ids, len(self))
        self._state = self._state._replace(rows=self._state.rows.append(codes, ids))

    def _drop(self, positions: Ints) -> None:
        kept = np.ones(len(self), dtype=np.bool_)
        kept[positions] = False
        rows, approximate = self._state.rows.keep(kept), self._state.approximate
        self._positions = IdPositions(rows.ids)
        self._state = self._state._replace(
            rows=rows, approximate=approximate and approximate.without(kept), n_removals=self._state.n_removals + 1
        )

    @classmethod
    @abstractmethod
    def _from_contents(cls, contents: Contents) -> Kept: ...

    @abstractmethod
    def _header(self, state: State) -> Header: ...


def _same(path: PathLike, own: PathLike) -> bool:
    if os.path.exists(path) and os.path.exists(own):
        return os.path.samefile(path, own)
    return os.path.realpath(path) == os.path.realpath(own)
