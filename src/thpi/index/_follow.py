"""Following an index file that other processes change: what is new in it, and writing between their changes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from thpi._types import PathLike
from thpi.index._file import IndexFile, open_locked, opened
from thpi.index._format import Contents, IndexFileError, Known, Record, parse, read_tail


class Place(NamedTuple):
    """How far a file has been read, with how many records, and whether a slot is known to include them.

    ``seen`` is the file's inode, size and time of change when that was done.
    """

    seen: tuple[int, int, int]
    known: Known
    n_records: int
    acknowledged: bool


class Follower:
    """An index file and the place up to which it is known. One thread at a time uses it, holding ``lock``.

    The bytes up to that place stay as they are, unless the file is replaced or a failed write is taken back: both show
    in the digests of its snapshot and of its last record.
    """

    def __init__(self, path: PathLike) -> None:
        self.path, self.lock = Path(path).absolute(), threading.RLock()
        self.place: Place | None = None

    def first(self, locked: IO[bytes] | None = None) -> tuple[Contents, Place]:
        """Read the whole file."""
        with opened(self.path, locked) as file:
            return _whole(file)

    def news(self, locked: IO[bytes] | None = None) -> tuple[Contents | list[Record], Place]:
        """Return records that were appended, or all contents if the file is another, and the place behind them.

        The caller takes them over and then sets ``place``. Through a ``locked`` file it looks closely.
        """
        place = self.place
        assert place is not None
        with opened(self.path, locked) as file:
            seen = _seen(file)
            if locked is None and seen == place.seen:
                return [], place
            with suppress(IndexFileError):  # if it is another file
                tail = read_tail(file, place.known)
                known = place.known._replace(digest=tail.digest, last=tail.last, end=tail.end)
                acknowledged = tail.acknowledged >= tail.end
                return tail.records, Place(seen, known, place.n_records + len(tail.records), acknowledged)
            return _whole(file)

    @contextmanager
    def writing(self, wait: float, catch_up: Callable[[IO[bytes]], None]) -> Iterator[IndexFile]:
        """Lock the file, let the caller ``catch_up`` with it through the locked file, and give it to append to."""
        with open_locked(self.path, wait) as locked:
            catch_up(locked)
            assert self.place is not None
            place, known = self.place, self.place.known
            if os.fstat(locked.fileno()).st_size > known.end:
                os.ftruncate(locked.fileno(), known.end)  # an unfinished write of a process that was killed
            file = IndexFile(self.path, locked, known.snapshot_digest, known.digest, place.n_records, known.end)
            if not place.acknowledged:
                file.acknowledge()
            yield file
            known = known._replace(digest=file.digest, last=file.last or known.last, end=file.end)
            self.place = Place(_seen(locked), known, file.count, acknowledged=True)


def _whole(file: IO[bytes]) -> tuple[Contents, Place]:
    seen = _seen(file)  # before reading: what is written meanwhile is found next time
    read = parse(file)
    known = Known(read.header["n_bits"], read.snapshot_digest, read.digest, read.last, read.end)
    return read, Place(seen, known, len(read.records), acknowledged=False)


def _seen(file: IO[bytes]) -> tuple[int, int, int]:
    about = os.fstat(file.fileno())
    return about.st_ino, about.st_size, about.st_mtime_ns
