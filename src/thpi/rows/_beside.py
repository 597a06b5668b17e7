"""Two sets of rows side by side: row i of both is one item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi.rows._dask import DaskRows
from thpi.rows._rows import Rows
from thpi.solvers.blocks import row_blocks

__all__ = ["Beside"]

Array = npt.NDArray[Any]


class Beside(Rows):
    """Rows of ``left`` with those of ``right`` appended, whatever blocks either comes in.

    >>> from thpi.rows import Blocks
    >>> Beside(Blocks([np.ones((3, 2))]), np.zeros((3, 1))).gather()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [1., 1., 0.]])
    """

    def __init__(self, left: Rows, right: Any) -> None:
        self.left, self.right = left, right

    @staticmethod
    def of(left: Rows, right: Any) -> Rows:
        """Put ``right`` (array or rows) beside ``left``; where either is on a cluster, the whole is."""
        if isinstance(left, DaskRows):
            return left.beside(right)
        if isinstance(right, DaskRows):
            right = right.gather()
        return Beside(left, right)

    def blocks(self) -> Iterator[Array]:
        """Read all rows again."""
        others = _Reader(self.right)
        for block in self.left.blocks():
            yield np.hstack([block, others.read(len(block)).astype(block.dtype, copy=False)])
        others.close()


class _Reader:
    """Reads so many rows at a time from rows in blocks of another size."""

    def __init__(self, rows: Any) -> None:
        blocks = rows.blocks() if isinstance(rows, Rows) else (rows[part] for part in row_blocks(rows))
        self.blocks: Iterator[Array] = iter(blocks)
        self.waiting: Array | None = None

    def read(self, n: int) -> Array:
        parts: list[Array] = []
        while n:
            if self.waiting is None or not len(self.waiting):
                self.waiting = next(self.blocks, None)
                if self.waiting is None:
                    raise ValueError("privileged has fewer rows than X; row i of both must be one item.")
            # A copy: a block may be overwritten by the next one.
            parts.append(np.array(self.waiting[:n]))
            self.waiting = self.waiting[n:]
            n -= len(parts[-1])
        return np.concatenate(parts)

    def close(self) -> None:
        if (self.waiting is not None and len(self.waiting)) or next(self.blocks, None) is not None:
            raise ValueError("privileged has more rows than X; row i of both must be one item.")
