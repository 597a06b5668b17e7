"""Rows in a temporary file of their own, for projections that do not fit into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi.rows._rows import Rows

__all__ = ["Spilled"]

Array = npt.NDArray[Any]


class Spilled(Rows):
    """Rows written to a temporary file without a name, which is gone with the object or the process.

    It is read by ``readinto`` rather than mapped: mapped pages would count as memory of the process. The folder is
    that of :mod:`tempfile`, which ``TMPDIR`` sets.

    >>> spilled = Spilled([np.ones((2, 3)), np.zeros((1, 3))], (3, 3), np.dtype(np.float64))
    >>> spilled.gather().sum(), spilled.take(np.array([0, 2]))
    (np.float64(6.0), array([[1., 1., 1.],
           [0., 0., 0.]]))
    """

    def __init__(self, blocks: Iterable[Array], shape: tuple[int, int], dtype: Any) -> None:
        self._shape, self._dtype = shape, np.dtype(dtype)
        self._file = tempfile.TemporaryFile(prefix="thpi-", buffering=0)  # noqa: SIM115 - closed with the object
        for block in blocks:
            self._file.write(np.ascontiguousarray(block, dtype=self._dtype).data.cast("B"))

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self._shape

    def blocks(self) -> Iterator[Array]:
        """Read all rows again; a block is overwritten by the next one."""
        n, c = self._shape
        size = max(1, 2**22 // (self._dtype.itemsize * c))
        buffer = np.empty((min(n, size), c), dtype=self._dtype)
        for start in range(0, n, size):
            block = buffer[: min(size, n - start)]
            self._file.seek(start * c * self._dtype.itemsize)
            _read_all(self._file, block.data.cast("B"))
            yield block

    def gather(self) -> Array:
        """Bring all rows into memory."""
        return np.concatenate([block.copy() for block in self.blocks()])


def _read_all(file: Any, view: memoryview) -> None:
    got = 0
    while got < len(view):
        part = file.readinto(view[got:])
        if not part:
            raise OSError("a temporary file of thpi has become shorter.")
        got += part
