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
from thpi.index._format import FIXED, Contents, IndexFileError, Record, parse, parse_tail


class Place(NamedTuple):
    """How far a file has been read: ``seen`` is its inode, size and time of change when that was done."""

    seen: tuple[int, int, int]
    n_bits: int
    snapshot_digest: bytes
    digest: bytes
    n_records: int
    end: int
    acknowledged: bool


class Follower:
    """An index file and the place up to which it is known. Its methods are called by one thread at a time (``lock``).

    The bytes up to that place never change, unless the file is replaced: then its snapshot is another one.
    """

    def __init__(self, path: PathLike) -> None:
        self.path, self.lock = Path(path).absolute(), threading.RLock()
        self.place: Place | None = None

    def first(self) -> tuple[Contents, Place]:
        """Read the whole file."""
        with opened(self.path) as file:
            return self._whole(file)

    def _whole(self, file: IO[bytes]) -> tuple[Contents, Place]:
        seen = _seen(file.fileno())  # before reading: what is written meanwhile is found next time
        file.seek(0)
        contents = parse(file.read())
        digests, count = (contents.snapshot_digest, contents.digest), len(contents.records)
        return contents, Place(seen, contents.header["n_bits"], *digests, count, contents.end, acknowledged=False)

    def news(self, handle: int | None = None) -> tuple[Contents | list[Record], Place]:
        """Return records that were appended, or all contents if the file is another, and the place behind them.

        The caller takes them over and then sets ``place``.
        """
        known = self.place
        assert known is not None
        with opened(self.path, handle) as file:
            seen = _seen(file.fileno())
            if seen == known.seen:
                return [], known
            if seen[1] >= known.end:
                head = file.read(FIXED)
                file.seek(known.end)
                rest = file.read()
                with suppress(IndexFileError):  # if it is another file
                    tail = parse_tail(head, rest, known.end, known.snapshot_digest, known.digest, known.n_bits)
                    place = known._replace(seen=seen, digest=tail.digest, n_records=known.n_records + len(tail.records))
                    return tail.records, place._replace(end=tail.end, acknowledged=tail.acknowledged >= tail.end)
            return self._whole(file)

    @contextmanager
    def writing(self, wait: float, catch_up: Callable[[int], None]) -> Iterator[IndexFile]:
        """Lock the file, let the caller ``catch_up`` with it through a handle, and give it to append to."""
        handle = open_locked(self.path, wait)
        try:
            catch_up(handle)
            assert self.place is not None
            place = self.place
            if os.fstat(handle).st_size > place.end:
                os.ftruncate(handle, place.end)  # an unfinished write of a process that was killed
            file = IndexFile(self.path, handle, place.snapshot_digest, place.digest, place.n_records, place.end)
        except BaseException:
            os.close(handle)
            raise
        try:
            if not place.acknowledged:
                file.acknowledge()
            yield file
            own = place._replace(digest=file.digest, n_records=file.count, end=file.end, acknowledged=True)
            self.place = own._replace(seen=_seen(handle))
        finally:
            file.close()


def _seen(handle: int) -> tuple[int, int, int]:
    about = os.fstat(handle)
    return about.st_ino, about.st_size, about.st_mtime_ns
