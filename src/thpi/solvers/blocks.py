"""Sums over blocks of rows: the one way in which a solver looks at a matrix that may be larger than memory.

A matrix is a numpy array, a sparse matrix, or an object of :mod:`thpi.rows` (rows on disk or on a cluster), which
brings its own ``reduce``, ``project`` and ``take``. What comes back is small: c x c or d x d.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from thpi.kernels._threads import n_threads, own_threads, stream_in_order

__all__ = [
    "combined",
    "for_blocks",
    "map_groups",
    "reduce_blocks",
    "row_blocks",
    "spread",
    "sum_blocks",
    "take_block",
    "take_rows",
]

Array = npt.NDArray[Any]
Parts = tuple[Array, ...]
T = TypeVar("T")

_CACHED = 2**20
_LARGEST = 2**25
_SPARSE_ROWS = 2**14
_BLOCKS_A_GROUP = 16
_LEAST_GROUPS = 8
_LEAST_SHARED = 4


def row_blocks(X: Any) -> Iterator[slice]:
    """Cut the rows of an array into blocks that stay in cache while they are worked on.

    A block has at least twice as many rows as columns, where that fits into 32 MiB, so that a d x d sum costs less
    than what is added to it; about 1 MiB otherwise.

    >>> list(row_blocks(np.zeros((5, 2))))
    [slice(0, 5, None)]
    """
    n, d = X.shape[0], max(1, X.shape[1])
    if sparse.issparse(X):
        size = _SPARSE_ROWS
    else:
        width = X.dtype.itemsize * d
        size = max(1, _CACHED // width, min(2 * d, _LARGEST // width))
    # sklearn's gen_batches checks its arguments, which takes as long as a small block.
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def take_block(X: Any, rows: slice) -> Any:
    """Give a block of rows without copying it, of a sparse matrix too.

    >>> take_block(sparse.csr_matrix(np.eye(3)), slice(1, 3)).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    if not sparse.issparse(X) or (rows.start == 0 and rows.stop == X.shape[0]):
        return X[rows] if not sparse.issparse(X) else X
    low, high = X.indptr[rows.start], X.indptr[rows.stop]
    parts = X.data[low:high], X.indices[low:high], X.indptr[rows.start : rows.stop + 1] - low
    return type(X)(parts, shape=(rows.stop - rows.start, X.shape[1]), copy=False)


def combined(parts: Iterable[Parts], combine: Callable[..., Any] = np.add) -> Parts:
    """Add up tuples of arrays, member by member, in float64; or combine them by another ufunc.

    >>> combined([(np.float32(1.0), np.arange(2)), (np.float32(2.0), np.arange(2))])
    (array(3.), array([0., 2.]))
    """
    result: list[Array] = []
    for part in parts:
        if not result:
            result = [np.array(member, dtype=np.float64) for member in part]
        else:
            for whole, member in zip(result, part, strict=True):
                combine(whole, member, out=whole)
    return tuple(result)


def reduce_blocks(
    function: Callable[..., Parts], X: Any, *arguments: Any, combine: Callable[..., Any] = np.add
) -> Parts:
    """Combine ``function(block, *arguments)`` over the blocks of ``X``; each call gives a tuple of small arrays.

    >>> reduce_blocks(lambda block, factor: (factor * block.sum(axis=0),), np.ones((4, 2)), 3.0)
    (array([12., 12.]),)
    """
    if hasattr(X, "reduce") and not isinstance(X, np.ndarray):
        parts: Parts = X.reduce(function, *arguments, combine=combine)
        return parts
    return sum_blocks(lambda rows: function(X[rows], *arguments), X, combine)


def sum_blocks(function: Callable[[slice], Parts], X: Any, combine: Callable[..., Any] = np.add) -> Parts:
    """Combine ``function(rows)`` over the blocks of rows of an array, for sums over several arrays side by side.

    >>> sum_blocks(lambda rows: (np.ones(3)[rows].sum(),), np.zeros((3, 2)))
    (array(3.),)
    """

    def add_up(group: list[slice]) -> Parts:
        return combined((function(rows) for rows in group), combine)

    return combined(map_groups(add_up, X), combine)


def for_blocks(function: Callable[[slice], None], X: Any) -> None:
    """Call ``function(rows)`` for every block of rows of an array: it writes to rows of its own.

    >>> out = np.zeros(3)
    >>> for_blocks(lambda rows: out[rows].fill(2), np.zeros((3, 2)))
    >>> out
    array([2., 2., 2.])
    """

    def work(group: list[slice]) -> None:
        for rows in group:
            function(rows)

    for _ in map_groups(work, X):
        pass


def map_groups(function: Callable[[list[slice]], T], X: Any) -> Iterator[T]:
    """Yield ``function(group)`` for groups of blocks of rows of an array, in order.

    Where libraries may use several threads, several groups are worked on at a time, each by one thread: products of
    blocks that fit into a cache are too small to be shared out. A group is some blocks, so that handing it over costs
    little, and where blocks are few, groups are still enough for threads to end together; of less than four, none is
    handed over. The groups, and so the results, do not depend on the number of threads.

    >>> list(map_groups(lambda group: sum(rows.stop - rows.start for rows in group), np.zeros((5, 2))))
    [5]
    """
    blocks = list(row_blocks(X))
    size = max(1, min(_BLOCKS_A_GROUP, len(blocks) // _LEAST_GROUPS))
    groups = [blocks[i : i + size] for i in range(0, len(blocks), size)]
    threads = n_threads() if len(groups) >= _LEAST_SHARED else 1
    if threads == 1:
        yield from (function(group) for group in groups)
        return
    with own_threads():
        yield from stream_in_order((partial(function, group) for group in groups), threads)


def take_rows(X: Any, rows: npt.NDArray[np.int64]) -> Array:
    """Give the rows of these (ascending) numbers as an array.

    >>> take_rows(np.arange(6).reshape(3, 2), np.array([0, 2]))
    array([[0, 1],
           [4, 5]])
    """
    return np.asarray(X.take(rows) if hasattr(X, "reduce") and not isinstance(X, np.ndarray) else X[rows])


def spread(n: int, most: int) -> npt.NDArray[np.int64]:
    """Numbers of at most ``most`` of n rows, evenly spaced.

    >>> spread(9, 3), spread(2, 3)
    (array([0, 4, 8]), array([0, 1]))
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
