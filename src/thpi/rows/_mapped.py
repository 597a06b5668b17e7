"""Rows of a memory-mapped array, read so that pages already read do not pile up in memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np

from thpi._types import Array, Ints
from thpi.rows._rows import Rows, as_floats
from thpi.solvers.blocks import row_blocks

MAPPED_FROM = 2**26
"""A mapped array of at least this many bytes is read block by block; a smaller one is used as an array."""

_RELEASE_EVERY = 2**25


class Mapped(Rows):
    """Rows of a ``numpy.memmap``, such as ``np.load(path, mmap_mode="r")``."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.dtype = as_floats(array[:0]).dtype
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.n_columns = self.shape[1]

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
        # The pages stay in the system's cache; only the mapping drops them. A writable map is left alone, because
        # private changes (mode "c") would be lost.
        mapping = getattr(self.array, "_mmap", None)
        if mapping is not None and getattr(self.array, "mode", "") == "r" and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)

    def take(self, rows: Ints) -> Array:
        """Return the rows with these numbers."""
        taken = as_floats(self.array[rows])
        self._release()
        return taken
