"""Index files on disk: reading, replacing in one step, and appending so that acknowledged changes survive a kill.

A file is held by one Python object that knows whether it is closed, never by a bare number: the number of a closed
file soon belongs to another one.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from pathlib import Path
from typing import IO

from thpi._files import atomic_file, lock, remove_leftovers
from thpi._types import Array, Codes, PathLike
from thpi.index._format import SLOTS, Contents, Header, Record, parse, record_bytes, slot_bytes, snapshot_bytes


class IndexLockedError(OSError):
    """The index file is open for writing in another process or object."""


def opened(path: PathLike, locked: IO[bytes] | None = None) -> IO[bytes]:
    """Open a file for reading from its start; through ``locked``, which stays open, if it is given."""
    file = open(path if locked is None else locked.fileno(), "rb", closefd=locked is None)  # noqa: SIM115
    file.seek(0)
    return file


class IndexFile:
    """A file open for writing, locked against other writers."""

    def __init__(
        self, path: Path, file: IO[bytes], snapshot_digest: bytes, digest: bytes, count: int, end: int
    ) -> None:
        self.path, self._file = path, file
        self._snapshot_digest, self.digest, self.count, self.end = snapshot_digest, digest, count, end
        self.last = 0  # where the record is that was appended last

    @classmethod
    def open(cls, path: PathLike, wait: float = 0.0) -> tuple[IndexFile, Contents]:
        """Open an existing file and cut off an unfinished write at its end; wait for another writer, in seconds."""
        target = Path(os.path.realpath(path))
        file = open_locked(target, wait)
        try:
            return cls._read(target, file)
        except BaseException:
            file.close()
            raise

    def again(self, wait: float = 0.0) -> tuple[IndexFile, Contents]:
        """Read the file anew after a change that was broken off, under the lock if it is still held."""
        if self._file.closed or not _has_name(self._file, self.path):
            return IndexFile.open(self.path, wait)
        try:
            return self._read(self.path, self._file)
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def _read(cls, target: Path, file: IO[bytes]) -> tuple[IndexFile, Contents]:
        with opened(target, file) as reading:
            contents = parse(reading)
        remove_leftovers(target)
        os.ftruncate(file.fileno(), contents.end)
        own = cls(target, file, contents.snapshot_digest, contents.digest, len(contents.records), contents.end)
        own.acknowledge()
        return own, contents

    def rewrite(self, header: Header, codes: Codes, ids: Array) -> IndexFile:
        """Replace the file by a snapshot in one step, and return the new one, open and locked."""
        if self.path.exists() and not _has_name(self._file, self.path):
            raise OSError(f"{os.fspath(self.path)!r} is not the file that was opened; open it again.")
        return self.replace(self.path, header, codes, ids, owned=True)

    @classmethod
    def replace(cls, path: PathLike, header: Header, codes: Codes, ids: Array, *, owned: bool) -> IndexFile:
        """Write a snapshot to ``path`` in one step and keep it open; ``owned``: the caller has locked the old file."""
        target = Path(os.path.realpath(path))
        data, digest = snapshot_bytes(header, codes, ids)
        if owned or not target.exists():
            return cls._write(target, data, digest)
        with open_locked(target):
            return cls._write(target, data, digest)

    @classmethod
    def _write(cls, target: Path, data: bytes, digest: bytes) -> IndexFile:
        file: IO[bytes] | None = None
        try:
            with atomic_file(target) as file:  # locked before it gets its name
                _write_at(file, data, 0)
            with contextlib.suppress(OSError):
                folder = os.open(target.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)  # so that the new name survives a loss of power
                finally:
                    os.close(folder)
            return cls(target, file, digest, digest, 0, len(data))
        except BaseException:
            if file is not None:
                file.close()
            raise

    def append(self, record: Record) -> None:
        """Store one addition or removal; once this returns, it survives a kill or a loss of power.

        If it raises, the record may or may not be stored, and the object must not be used but for ``again``.
        """
        if os.fstat(self._file.fileno()).st_nlink == 0:
            raise OSError(f"{os.fspath(self.path)!r} was deleted or replaced; open it again.")
        data, digest = record_bytes(record, self.digest)
        try:
            _write_at(self._file, data, self.end)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), self.end)
            raise
        self.digest, self.count, self.last, self.end = digest, self.count + 1, self.end, self.end + len(data)
        self.acknowledge()

    def acknowledge(self) -> None:
        """Write a slot that includes every record."""
        # The slots alternate: if this write is torn, the other slot still has the previous end.
        slot = slot_bytes(self._snapshot_digest, self.count, self.end)
        _write_at(self._file, slot, SLOTS[self.count % len(SLOTS)])

    def close(self) -> None:
        """Release the lock; everything is written already."""
        self._file.close()


def open_locked(path: Path, wait: float = 0.0) -> IO[bytes]:
    """Open a file for writing and lock it; ``IndexLockedError`` if another writer keeps it for ``wait`` seconds."""
    deadline = time.monotonic() + wait
    while True:
        file = io.FileIO(path, "r+")
        try:
            if not lock(file):
                if time.monotonic() >= deadline:
                    raise IndexLockedError(f"the index file {os.fspath(path)!r} is open for writing elsewhere.")
                time.sleep(0.01)
            elif _has_name(file, path):
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # locked by another, or replaced between opening and locking


def _has_name(file: IO[bytes], path: Path) -> bool:
    return os.path.samestat(os.fstat(file.fileno()), os.stat(path))


def _write_at(file: IO[bytes], data: bytes, at: int) -> None:
    """Write all of ``data``, and return once it is on disk."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(file.fileno(), rest, at)
        rest, at = rest[written:], at + written
    os.fsync(file.fileno())
