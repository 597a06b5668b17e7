"""Rows one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from thpi.rows._dask import DaskRows
from thpi.rows._rows import Rows, check_block
from thpi.solvers.blocks import row_blocks

__all__ = ["Stacked"]

Array = npt.NDArray[Any]


class Stacked(Rows):
    """The rows of an array in memory, then further rows.

    >>> import numpy as np
    >>> from thpi.rows import Blocks
    >>> Stacked(np.ones((2, 3)), Blocks([np.zeros((4, 3))])).shape
    (6, 3)
    """

    def __init__(self, array: Array, rows: Rows) -> None:
        self.array, self.rows = array, rows

    @staticmethod
    def of(array: Array, rows: Rows) -> Rows:
        """Stack ``array`` on ``rows``; where these are on a cluster, the whole is."""
        return rows.below(array) if isinstance(rows, DaskRows) else Stacked(array, rows)

    def blocks(self) -> Iterator[Array]:
        """Read all rows again."""
        for rows in row_blocks(self.array):
            yield self.array[rows]
        for block in self.rows.blocks():
            yield check_block(block, self.array.shape[1], self.array.dtype)
