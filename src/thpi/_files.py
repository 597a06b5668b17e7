"""Atomic writes: a reader sees the old content of a file or the new one, never a part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from thpi._types import PathLike


def _read_umask() -> int:
    """Read the umask at import, before there are other threads: reading it means setting it."""
    current = os.umask(0o077)
    os.umask(current)
    return current


_UMASK = _read_umask()


@contextmanager
def atomic_open(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path`` for writing, and rename it to ``path`` once it is on disk.

    If the block raises, ``path`` is unchanged and the temporary file is removed.
    """
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_UMASK)  # mkstemp makes private files
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def atomic_write(path: PathLike, data: bytes | str) -> None:
    """Write ``data`` to ``path`` in one step (text as UTF-8)."""
    with atomic_open(path) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)
