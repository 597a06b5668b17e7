"""Rows: what every kind of rows that are not in memory can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thpi.solvers.blocks import Parts, combined
from thpi.solvers.moments import Moments, shifted_moments

__all__ = ["Rows", "as_floats", "check_block"]

Array = npt.NDArray[Any]

IN_MEMORY = 2**27
"""Projections (n x c) up to this many bytes are kept in memory; larger ones go to a temporary file."""


class Rows(ABC):
    """Rows read block by block, as often as needed. A kind of rows fills in :meth:`blocks`.

    ``shape`` and ``dtype`` (float32 or float64) are those of the whole; where the number of rows is not known
    beforehand, asking for ``shape`` reads all rows once.
    """

    remote: ClassVar[bool] = False
    """Whether the rows, and what is made of each of them, are in other processes."""

    @abstractmethod
    def blocks(self) -> Iterator[Array]:
        """Read all rows again, in order, as blocks (none of them empty) of float32 or float64."""

    @cached_property
    def _first(self) -> Array:
        for block in self.blocks():
            return block
        raise ValueError("X has no rows; at least 2 are needed.")

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return self._first.dtype

    @property
    def n_columns(self) -> int:
        """Number of columns, known after the first block."""
        return int(self._first.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.moments().n, self.n_columns

    def moments(self) -> Moments:
        """Give number, mean and scatter matrix: one pass over the rows, the first time it is asked for."""
        return self._moments

    @cached_property
    def _moments(self) -> Moments:
        # The mean of the first block is near enough to the mean for the sums not to cancel.
        shift = self._first.mean(axis=0, dtype=np.float64).astype(self.dtype)
        moments = shifted_moments(self, shift)
        if not (np.isfinite(moments.mean).all() and np.isfinite(np.diag(moments.scatter)).all()):
            raise ValueError(f"X holds NaN, infinity, or numbers whose squares overflow {self.dtype}.")
        return moments

    def reduce(self, function: Callable[..., Parts], *arguments: Any, combine: Callable[..., Any] = np.add) -> Parts:
        """Combine ``function(block, *arguments)`` over all blocks; see :func:`thpi.solvers.blocks.reduce_blocks`."""
        return combined((function(block, *arguments) for block in self.blocks()), combine)

    def take(self, rows: npt.NDArray[np.int64]) -> Array:
        """Give the rows of these numbers, which ascend."""
        parts, start = [], 0
        for block in self.blocks():
            low, high = np.searchsorted(rows, (start, start + len(block)))
            # A copy, for a slice would keep the whole block.
            parts.append(np.array(block[rows[low:high] - start]))
            start += len(block)
        return np.concatenate(parts)

    def project(self, mean: Array, W: Array) -> Any:
        """Give ``(X - 1 mean') W`` as an array, or, where it is large, as rows in a temporary file."""
        from thpi.rows._spilled import Spilled

        n = self.shape[0]
        projected = ((block - mean) @ W for block in self.blocks())
        if n * W.shape[1] * self.dtype.itemsize > IN_MEMORY:
            return Spilled(projected, (n, W.shape[1]), self.dtype)
        out = np.empty((n, W.shape[1]), dtype=self.dtype)
        start = 0
        for block in projected:
            out[start : start + len(block)] = block
            start += len(block)
        return out

    def map(self, function: Callable[[Array], Array], n_columns: int, dtype: Any) -> Any:
        """Give ``function(block)`` of all blocks as one array in memory; each has ``n_columns`` columns."""
        parts = [function(block) for block in self.blocks()]
        return np.concatenate(parts) if parts else np.empty((0, n_columns), dtype=dtype)

    def gather(self) -> Array:
        """Bring all rows into memory."""
        return np.concatenate(list(self.blocks()))


def as_floats(block: Any) -> Array:
    """Give a block as float32 or float64, whatever numbers it holds.

    >>> as_floats(np.arange(3, dtype=np.int8)).dtype
    dtype('float64')
    """
    array = np.asarray(block)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"X holds blocks of dtype {array.dtype}; they must be numbers.")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def check_block(block: Any, n_columns: int | None, dtype: Any = None) -> Array:
    """Check that a block is 2-D and as wide as the first one; give it in the dtype of the first one."""
    array = as_floats(block)
    if array.ndim != 2 or (n_columns is not None and array.shape[1] != n_columns):
        wanted = "2-D" if n_columns is None else f"2-D with {n_columns} columns, as the first one"
        raise ValueError(f"X holds a block of shape {array.shape}; every block must be {wanted}.")
    return array if dtype is None else array.astype(dtype, copy=False)
