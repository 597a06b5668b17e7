"""Rows in this process: blocks that the caller provides, and memory-mapped arrays."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Ints
from thpi.rows._rows import Rows, as_floats, check_block
from thpi.solvers.blocks import row_blocks

MAPPED_FROM = 2**26
"""A mapped array of at least this many bytes is read block by block; a smaller one is used as an array."""

_RELEASE_EVERY = 2**25


class Blocks(Rows):
    """Rows in blocks: a list of arrays, any other iterable that can be read repeatedly, or a function.

    Fitting reads the rows several times. A generator can be read only once, so pass a function that makes one.

    >>> blocks = Blocks(lambda: (np.full((2, 3), float(i)) for i in range(4)))
    >>> blocks.shape, blocks.moments().mean
    ((8, 3), array([1.5, 1.5, 1.5]))
    """

    def __init__(self, blocks: Iterable[npt.ArrayLike] | Callable[[], Iterable[npt.ArrayLike]]) -> None:
        if not callable(blocks) and iter(blocks) is blocks:
            raise ValueError(
                "blocks is an iterator, which can be read only once; pass a list, or a function that makes an iterator."
            )
        self._make = blocks if callable(blocks) else lambda: blocks

    def blocks(self) -> Iterator[Array]:
        """Read all blocks again."""
        n_columns = dtype = None
        for block in self._make():
            array = check_block(block, n_columns, dtype)
            n_columns, dtype = array.shape[1], array.dtype
            if len(array):
                yield array


class Mapped(Rows):
    """Rows of a ``numpy.memmap``, such as ``np.load(path, mmap_mode="r")``; pages that were read leave the memory."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.n_columns, self.dtype = self.shape[1], as_floats(array[:0]).dtype

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
