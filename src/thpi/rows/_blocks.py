"""Rows given as blocks that the caller makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy.typing as npt

from thpi.rows._rows import Rows, check_block

__all__ = ["Blocks"]

Array = npt.NDArray[Any]


class Blocks(Rows):
    """Rows in blocks: a list of arrays, any object that can be iterated over again and again, or a function.

    Fitting reads the rows several times, so a generator, which can be read once, will not do; a function that makes
    one will.

    >>> import numpy as np
    >>> blocks = Blocks(lambda: (np.full((2, 3), float(i)) for i in range(4)))
    >>> blocks.shape, blocks.moments().mean
    ((8, 3), array([1.5, 1.5, 1.5]))
    """

    def __init__(self, blocks: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        if not callable(blocks) and iter(blocks) is blocks:
            raise ValueError(
                "blocks is an iterator, which can be read only once; give a list, or a function that makes an iterator."
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
