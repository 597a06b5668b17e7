"""Writing files so that a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_open", "atomic_write"]


def _read_umask() -> int:
    """The umask can only be read by setting it: done once, at import, before there are other threads to disturb."""
    current = os.umask(0o077)
    os.umask(current)
    return current


_UMASK = _read_umask()


@contextmanager
def atomic_open(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` for writing; rename it to ``path`` once all is on disk.

    Where the block raises, ``path`` is as it was and the temporary file is gone.
    """
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_UMASK)  # mkstemp files are private; an output file should not be
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def atomic_write(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write ``data`` to ``path``, whole or not at all (text as UTF-8).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder) / "a.txt", "all of it")
    ...     (Path(folder) / "a.txt").read_text()
    'all of it'
    """
    with atomic_open(path) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)
