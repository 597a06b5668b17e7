"""Rows in a temporary file, for projections that do not fit into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator

import numpy as np

from thpi._types import Array, DType
from thpi.rows._rows import Rows


class Spilled(Rows):
    """Rows written to an unnamed temporary file, which disappears with the object or the process.

    The file is read with ``readinto``: mapped pages would count as memory of the process. ``TMPDIR`` sets its folder.

    >>> spilled = Spilled([np.ones((2, 3)), np.zeros((1, 3))], (3, 3), np.dtype(np.float64))
    >>> spilled.gather().sum(), spilled.take(np.array([0, 2]))
    (np.float64(6.0), array([[1., 1., 1.],
           [0., 0., 0.]]))
    """

    def __init__(self, blocks: Iterable[Array], shape: tuple[int, int], dtype: DType) -> None:
        self.shape, self.n_columns, self.dtype = shape, shape[1], dtype
        self._file = tempfile.TemporaryFile(prefix="thpi-", buffering=0)  # noqa: SIM115 - closed with the object
        for block in blocks:
            self._file.write(np.ascontiguousarray(block, dtype=dtype).data.cast("B"))

    def blocks(self) -> Iterator[Array]:
        """Read all rows again; each block overwrites the one before."""
        n, c = self.shape
        size = max(1, 2**22 // (self.dtype.itemsize * c))
        buffer = np.empty((min(n, size), c), dtype=self.dtype)
        for start in range(0, n, size):
            block = buffer[: min(size, n - start)]
            self._file.seek(start * c * self.dtype.itemsize)
            self._read_into(block.data.cast("B"))
            yield block

    def _read_into(self, view: memoryview) -> None:
        while view:
            n = self._file.readinto(view)
            if not n:
                raise OSError("a temporary file of thpi has become shorter.")
            view = view[n:]

    def gather(self) -> Array:
        """Bring all rows into memory."""
        return np.concatenate([block.copy() for block in self.blocks()])
