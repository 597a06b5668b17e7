"""Rows joined from two parts: one below the other, or side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thpi._types import Array
from thpi.rows._dask import DaskRows
from thpi.rows._rows import Rows, check_block
from thpi.solvers.blocks import row_blocks


class Stacked(Rows):
    """The rows of an array in memory, then further rows.

    >>> from thpi.rows import Blocks
    >>> Stacked(np.ones((2, 3)), Blocks([np.zeros((4, 3))])).shape
    (6, 3)
    """

    def __init__(self, array: Array, rows: Rows) -> None:
        self.array, self.rows = array, rows

    @staticmethod
    def of(array: Array, rows: Rows) -> Rows:
        """Stack ``array`` on ``rows``; the result is on a cluster if ``rows`` are."""
        return rows.below(array) if isinstance(rows, DaskRows) else Stacked(array, rows)

    def blocks(self) -> Iterator[Array]:
        """Read all rows again."""
        for rows in row_blocks(self.array):
            yield self.array[rows]
        for block in self.rows.blocks():
            yield check_block(block, self.array.shape[1], self.array.dtype)


class Beside(Rows):
    """Row i of two parts as one row: the columns of ``left``, then those of ``right``; their blocks may differ in size.

    >>> from thpi.rows import Blocks
    >>> Beside(Blocks([np.ones((3, 2))]), np.zeros((3, 1))).gather()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [1., 1., 0.]])
    """

    def __init__(self, left: Rows, right: Array | Rows) -> None:
        self.left, self.right = left, right

    @staticmethod
    def of(left: Rows, right: Array | Rows) -> Rows:
        """Put ``right`` beside ``left``; the result is on a cluster if ``left`` is."""
        if isinstance(left, DaskRows):
            return left.beside(right)
        return Beside(left, right.gather() if isinstance(right, DaskRows) else right)

    def blocks(self) -> Iterator[Array]:
        """Read all rows again."""
        others = _Reader(self.right)
        for block in self.left.blocks():
            yield np.hstack([block, others.read(len(block)).astype(block.dtype, copy=False)])
        others.close()


class _Reader:
    """Reads a given number of rows at a time, whatever the size of the blocks."""

    def __init__(self, rows: Array | Rows) -> None:
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
            # Copied, because the next block may overwrite this one.
            parts.append(np.array(self.waiting[:n]))
            self.waiting = self.waiting[n:]
            n -= len(parts[-1])
        return np.concatenate(parts)

    def close(self) -> None:
        if (self.waiting is not None and len(self.waiting)) or next(self.blocks, None) is not None:
            raise ValueError("privileged has more rows than X; row i of both must be one item.")
