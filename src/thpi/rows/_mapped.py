"""Rows of a memory-mapped array, read so that the pages that were read do not pile up in memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi.rows._rows import Rows, as_floats
from thpi.solvers.blocks import row_blocks

__all__ = ["MAPPED_FROM", "Mapped"]

Array = npt.NDArray[Any]

MAPPED_FROM = 2**26
"""A mapped array of at least this many bytes is read block by block; a smaller one is taken as an array."""

_RELEASE_EVERY = 2**25


class Mapped(Rows):
    """Rows of a ``numpy.memmap``, for instance of ``np.load(path, mmap_mode="r")``."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.array = array
        self._dtype = as_floats(array[:0]).dtype

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return int(self.array.shape[0]), int(self.array.shape[1])

    def blocks(self) -> Iterator[Array]:
        """Read all rows again."""
        read = 0
        for rows in row_blocks(self.array):
            block = as_floats(self.array[rows])
            yield np.array(block)
            read += block.nbytes
            if read >= _RELEASE_EVERY:
                self._release()
                read = 0
        self._release()

    def _release(self) -> None:
        # Pages stay in the system's cache; only the mapping lets go of them. Of a writable map nothing is let go:
        # private changes (mode "c") would be lost.
        mapping = getattr(self.array, "_mmap", None)
        if mapping is not None and self.array.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)

    def take(self, rows: npt.NDArray[np.int64]) -> Array:
        """Give the rows of these numbers."""
        taken = as_floats(self.array[rows])
        self._release()
        return taken
