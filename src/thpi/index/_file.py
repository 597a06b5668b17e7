"""Index files on disk: reading, replacing in one step, and appending so that acknowledged changes survive a kill."""

from __future__ import annotations

import contextlib
import glob
import os
import time
from pathlib import Path
from typing import IO

from thpi._files import atomic_open
from thpi._types import Array, Codes, PathLike
from thpi.index._format import SLOTS, Contents, Header, Record, parse, record_bytes, slot_bytes, snapshot_bytes

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock: users must ensure one writer per file
    fcntl = None  # type: ignore[assignment]


class IndexLockedError(OSError):
    """The index file is open for writing in another process or object."""


def read(path: PathLike, handle: int | None = None) -> Contents:
    """Read an index file, through a handle if it is open; a damaged or foreign one is an ``IndexFileError``."""
    with opened(path, handle) as file:
        return parse(file.read())


def opened(path: PathLike, handle: int | None = None) -> IO[bytes]:
    """Open a file for reading from its start, through a handle if there is one."""
    file = open(path if handle is None else handle, "rb", closefd=handle is None)  # noqa: SIM115
    file.seek(0)
    return file


class IndexFile:
    """A file open for writing, locked against other writers."""

    def __init__(self, path: Path, handle: int, snapshot_digest: bytes, digest: bytes, count: int, end: int) -> None:
        self.path, self._handle = path, handle
        self._snapshot_digest, self.digest, self.count, self.end = snapshot_digest, digest, count, end
        self.last = 0  # where the record is that was appended last

    @classmethod
    def open(cls, path: PathLike, wait: float = 0.0) -> tuple[IndexFile, Contents]:
        """Open an existing file and cut off an unfinished write at its end; wait for another writer, in seconds."""
        target = Path(path).absolute()
        handle = open_locked(target, wait)
        try:
            contents = read(path, handle)
            # Only the holder of the lock writes temporary files for this path, so these are from killed processes.
            for leftover in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
                leftover.unlink(missing_ok=True)
            os.ftruncate(handle, contents.end)
            own = cls(target, handle, contents.snapshot_digest, contents.digest, len(contents.records), contents.end)
            own.acknowledge()
        except BaseException:
            os.close(handle)
            raise
        return own, contents

    @classmethod
    def replace(cls, path: PathLike, header: Header, codes: Codes, ids: Array, *, owned: bool) -> IndexFile:
        """Write a snapshot to ``path`` in one step and keep it open; ``owned``: the caller has locked the old file."""
        target = Path(path).absolute()
        data, digest = snapshot_bytes(header, codes, ids)
        with contextlib.ExitStack() as stack:
            if not owned and target.exists():
                stack.callback(os.close, open_locked(target))
            with atomic_open(target) as file:
                file.write(data)
                # The duplicate shares the lock, so the new file is locked before it gets its name.
                handle = os.dup(file.fileno())
                _lock(handle, target)
            with contextlib.suppress(OSError):
                folder = os.open(target.parent, os.O_RDONLY)
                stack.callback(os.close, folder)
                os.fsync(folder)  # so that the new name survives a loss of power
        return cls(target, handle, digest, digest, 0, len(data))

    def append(self, record: Record) -> None:
        """Store one addition or removal; once this returns, it survives a kill or a loss of power."""
        if self._handle < 0:
            raise ValueError(f"the index file {os.fspath(self.path)!r} is closed.")
        data, digest = record_bytes(record, self.digest)
        try:
            _write_at(self._handle, data, self.end)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self.end)
            self.close()
            raise
        self.digest, self.count, self.last, self.end = digest, self.count + 1, self.end, self.end + len(data)
        try:
            self.acknowledge()
        except OSError:
            # It is unknown whether the record will be found when the file is opened next, so nothing may follow it.
            self.close()
            raise

    def acknowledge(self) -> None:
        """Write a slot that includes every record."""
        # The slots alternate: if this write is torn, the other slot still has the previous end.
        slot = slot_bytes(self._snapshot_digest, self.count, self.end)
        _write_at(self._handle, slot, SLOTS[self.count % len(SLOTS)])

    def close(self) -> None:
        """Release the lock; everything is written already."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def open_locked(path: Path, wait: float = 0.0) -> int:
    """Open a file for writing and lock it; ``IndexLockedError`` if another writer keeps it for ``wait`` seconds."""
    deadline = time.monotonic() + wait
    while True:
        handle = os.open(path, os.O_RDWR)
        try:
            _lock(handle, path)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except IndexLockedError:
            os.close(handle)
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        except BaseException:
            os.close(handle)
            raise
        else:
            os.close(handle)  # replaced between opening and locking: open the file that now has the name


def _lock(handle: int, path: Path) -> None:
    if fcntl is None:  # pragma: no cover
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise IndexLockedError(f"the index file {os.fspath(path)!r} is open for writing elsewhere.") from None


def _write_at(handle: int, data: bytes, at: int) -> None:
    """Write all of ``data``, and return once it is on disk."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(handle, rest, at)
        rest, at = rest[written:], at + written
    os.fsync(handle)
