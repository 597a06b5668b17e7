"""Arrays of npy and npz files, sparse matrices among them; nothing in a file is trusted."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipInfo

import numpy as np

# Errors that damaged files of arrays cause.
_UNREADABLE = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError, OverflowError, RuntimeError),
    *(EOFError, BadZipFile, zlib.error, SyntaxError),
)
_MAX_UNPACKED, _USUAL_RATIO = 2**30, 10


def load_array(argument: str, path: Path, name: str | None) -> Any:
    """Return the array of a ``.npy`` file (memory-mapped) or ``.npz`` file, or a matrix of ``scipy.sparse``."""
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            if {"format", "shape", "data"} <= set(loaded.files):
                _check_unpacked(loaded.zip.infolist())
                return _load_sparse(path, loaded)
            if name is None and len(loaded.files) != 1:
                raise ValueError(f"it has the arrays {', '.join(loaded.files)}; choose one: {path}:{loaded.files[0]}")
            name = name or loaded.files[0]
            if name not in loaded.files:
                raise ValueError(f"it has no array {name!r}, only {', '.join(loaded.files)}")
            _check_unpacked([each for each in loaded.zip.infolist() if each.filename in (name, f"{name}.npy")])
            return loaded[name]
    except _UNREADABLE as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{argument}={str(path)!r} is not readable: {text}.") from None


def _check_unpacked(members: Sequence[ZipInfo]) -> None:
    """Refuse a small file that would fill the memory. A member is never read beyond the size that it declares."""
    packed, unpacked = (sum(sizes) for sizes in zip(*((m.compress_size, m.file_size) for m in members), strict=True))
    allowed = os.environ.get("THPI_MAX_UNPACKED", str(_MAX_UNPACKED))
    if not allowed.isdecimal():
        raise ValueError(f"THPI_MAX_UNPACKED={allowed!r} must be a number of bytes")
    if unpacked > max(int(allowed), _USUAL_RATIO * packed):
        advice = f"if you trust it, set THPI_MAX_UNPACKED={unpacked}"
        raise ValueError(f"it unpacks from {packed:,} to {unpacked:,} bytes, more than {int(allowed):,}; {advice}")


def _load_sparse(path: Path, loaded: Any) -> Any:
    """Return compressed rows. Every index is checked, because scipy reads and writes memory with them."""
    from scipy import sparse

    for name in {"indices", "indptr", "row", "col", "offsets"} & set(loaded.files):
        if loaded[name].dtype.kind not in "iu":
            raise ValueError(f"its {name} are of type {loaded[name].dtype}, not integers")
    matrix = sparse.load_npz(path)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    rows = sparse.csr_matrix(matrix)
    rows.check_format(full_check=True)
    return rows
