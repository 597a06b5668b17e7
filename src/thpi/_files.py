"""Atomic writes: a reader sees the old content of a file or the new one, never a part."""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from thpi._types import PathLike

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock
    fcntl = None  # type: ignore[assignment]


def _read_umask() -> int:
    """Read the umask at import, before there are other threads: reading it means setting it."""
    current = os.umask(0o077)
    os.umask(current)
    return current


_UMASK = _read_umask()
_SUFFIX = ".thpi-tmp"


def lock(file: IO[bytes]) -> bool:
    """Lock an open file against other writers until it is closed; False if another has the lock."""
    if fcntl is None:  # pragma: no cover - users must ensure one writer per file
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sha256_of(file: IO[bytes]) -> str:
    """Return the digest of a file from its start, read in blocks: it may be larger than memory."""
    digest = hashlib.sha256()
    file.seek(0)
    while block := file.read(2**20):
        digest.update(block)
    return digest.hexdigest()


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Make an empty temporary file beside ``path``, locked, and rename it to ``path`` once it is on disk.

    If the block raises, ``path`` is unchanged and the temporary file is gone; what a killed process leaves is removed
    when ``path`` is written next. A link is followed, and the new file gets the permissions of the old one.
    """
    target = Path(os.path.realpath(path))
    old = _regular(target)
    remove_leftovers(target)
    file, temporary = _temporary(target)
    with file:  # its lock says that it is no leftover
        try:
            yield temporary
            os.fsync(file.fileno())
            _take_permissions(file, old)
            if fcntl is None:  # pragma: no cover - Windows renames closed files only
                file.close()
            os.replace(temporary, target)
            _sync_folder(target.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def atomic_open(path: PathLike) -> Iterator[IO[bytes]]:
    """Open the temporary file of :func:`atomic_path` for writing."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        yield file


def atomic_write(path: PathLike, data: bytes | str) -> None:
    """Write ``data`` to ``path`` in one step (text as UTF-8)."""
    with atomic_open(path) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


def remove_leftovers(target: Path) -> None:
    """Remove the temporary files that killed writers of ``target`` left.

    They have a name that only :func:`atomic_path` gives, and no process holds their lock.
    """
    if fcntl is None:  # pragma: no cover - it is not known whether the writer lives
        return
    ours = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}{re.escape(_SUFFIX)}")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb") as file:
                    if lock(file):
                        os.unlink(entry.path)


def _temporary(target: Path) -> tuple[IO[bytes], Path]:
    """Return a new file, locked, and its name."""
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}{_SUFFIX}")
        try:
            file = io.FileIO(temporary, "x+", opener=lambda name, flags: os.open(name, flags, 0o600))
            # Before the lock is held, another process may take the file for a leftover.
            if lock(file) and temporary.exists():
                return file, temporary
            file.close()
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _regular(target: Path) -> os.stat_result | None:
    """Return what is known about an existing file; a folder, pipe or device must not be replaced by a file."""
    try:
        about = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(about.st_mode):
        raise OSError(f"{os.fspath(target)!r} is not a regular file, and is not replaced by one.")
    return about


def _take_permissions(file: IO[bytes], old: os.stat_result | None) -> None:
    mode = 0o666 & ~_UMASK
    if old is not None:
        mode = stat.S_IMODE(old.st_mode)
        if hasattr(os, "fchown"):
            with suppress(PermissionError):  # only root may give a file to another user
                os.fchown(file.fileno(), -1, old.st_gid)
                os.fchown(file.fileno(), old.st_uid, -1)
            if os.fstat(file.fileno()).st_gid != old.st_gid:
                mode = mode & ~0o070 | (mode & 0o007) << 3  # another group gets what everybody has
    if hasattr(os, "fchmod"):
        os.fchmod(file.fileno(), mode)


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a loss of power, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
