"""Rows in blocks that the caller provides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy.typing as npt

from thpi._types import Array
from thpi.rows._rows import Rows, check_block


class Blocks(Rows):
    """Rows in blocks: a list of arrays, any other iterable that can be read repeatedly, or a function.

    Fitting reads the rows several times. A generator can be read only once, so pass a function that makes one.

    >>> import numpy as np
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
