"""Atomic writes: a reader sees the old content of a file or the new one, never a part; also of several files."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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


def replace_together(journal: PathLike, writers: Mapping[Path, Callable[[Path], None]]) -> None:
    """Replace several files at once; each function writes one of them, whole and on disk, to the path it is given.

    The new files get names of their own. Then the journal is written, and from that moment the change is decided: the
    files are renamed and the journal is removed. A kill before that moment leaves the old files; after it, the journal
    is there, and :func:`finish_replacing` does what is left.
    """
    finish_replacing(journal)
    new = {target: _new_name(target) for target in writers}
    try:
        for target, write in writers.items():
            write(new[target])
    except BaseException:
        for path in new.values():
            path.unlink(missing_ok=True)
        raise
    folder = Path(journal).absolute().parent
    atomic_write(journal, json.dumps([os.path.relpath(target.absolute(), folder) for target in writers]))
    _sync_folder(folder)
    finish_replacing(journal)


def finish_replacing(journal: PathLike) -> bool:
    """Finish a change that :func:`replace_together` decided on; return whether there was one."""
    path = Path(journal)
    if not path.exists():
        return False
    try:
        targets = [path.absolute().parent / str(name) for name in json.loads(path.read_bytes())]
    except (ValueError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is not a list of files to replace ({error}).") from None
    for target in targets:
        if _new_name(target).exists():  # else it has its name already
            os.replace(_new_name(target), target)
            _sync_folder(target.parent)
    path.unlink()
    return True


def _new_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.new")


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a loss of power, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
