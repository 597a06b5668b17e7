"""Sums and products over blocks of rows, of arrays in memory or rows on disk or on a cluster (:mod:`thpi.rows`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from thpi._types import Array, InMemory, Ints, Matrix, is_sparse
from thpi.kernels.threads import n_threads, own_threads, stream_in_order

if TYPE_CHECKING:
    from scipy import sparse

    from thpi.solvers.moments import Moments

__all__ = ["Data", "Parts", "Streamed", "centred_product", "combined", "for_blocks", "map_groups"]
__all__ += ["reduce_blocks", "row_blocks", "spread", "sum_blocks", "take_block"]

Parts: TypeAlias = tuple[Array, ...]
"""What a function returns for one block; sums are taken member by member."""

T = TypeVar("T")

CACHED = 2**20
"""Bytes of an array that is one block: small data need no blocks."""

_LARGEST = 2**25
_SPARSE_ROWS = 2**14
_BLOCKS_PER_GROUP = 16
_LEAST_GROUPS = 8
_LEAST_SHARED = 4


@runtime_checkable
class Streamed(Protocol):
    """What solvers need of :class:`thpi.rows.Rows`. No properties: ``isinstance`` must not read the rows."""

    def reduce(self, function: Callable[..., Parts], *arguments: object, combine: Callable[..., object] = ...) -> Parts:
        """Combine the results of a function over all blocks."""

    def take(self, rows: Ints) -> Array:
        """Return some rows, in ascending order."""

    def project(self, mean: Array, W: Array) -> Any:
        """Return ``(X - 1 mean') W``."""

    def moments(self) -> Moments:
        """Return number, mean and scatter matrix."""

    def gather(self) -> Array:
        """Return all rows."""


class StreamedRows(Streamed, Matrix, Protocol):
    """Rows that are read in blocks, with their shape and dtype."""


Data: TypeAlias = "InMemory | StreamedRows"
"""A matrix in memory, dense or sparse, or rows that are read in blocks."""


def row_blocks(X: Matrix) -> Iterator[slice]:
    """Cut the rows of an array into blocks that stay in cache while they are used.

    About 1 MiB, and at least 2 d rows if they fit into 32 MiB: a d x d product must cost more than adding it up.

    >>> list(row_blocks(np.zeros((5, 2))))
    [slice(0, 5, None)]
    """
    n, size = X.shape[0], _block_length(X)
    # sklearn's gen_batches checks its arguments, which takes as long as a small block.
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _block_length(X: Matrix) -> int:
    if is_sparse(X):
        return _SPARSE_ROWS
    d = max(1, X.shape[1])
    width = X.dtype.itemsize * d
    return max(1, CACHED // width, min(2 * d, _LARGEST // width))


def take_block(X: Any, rows: slice) -> Any:
    """Return a block of rows of an array or of a CSR matrix without copying it.

    >>> from scipy import sparse
    >>> take_block(sparse.csr_matrix(np.eye(3)), slice(1, 2)).toarray()
    array([[0., 1., 0.]])
    """
    if rows.start == 0 and rows.stop == X.shape[0]:
        return X
    if not is_sparse(X):
        return X[rows]
    csr: sparse.csr_array = X
    low, high = csr.indptr[rows.start], csr.indptr[rows.stop]
    parts = csr.data[low:high], csr.indices[low:high], csr.indptr[rows.start : rows.stop + 1] - low
    return type(csr)(parts, shape=(rows.stop - rows.start, csr.shape[1]), copy=False)


def combined(parts: Iterable[Parts], combine: Callable[..., object] = np.add) -> Parts:
    """Add up tuples of arrays, member by member, in float64, or combine them by another ufunc.

    >>> combined([(np.float32(1.0), np.arange(2)), (np.float32(2.0), np.arange(2))])
    (array(3.), array([0., 2.]))
    """
    rest = iter(parts)
    result = [np.array(member, dtype=np.float64) for member in next(rest, ())]
    for part in rest:
        for whole, member in zip(result, part, strict=True):
            combine(whole, member, out=whole)
    return tuple(result)


def reduce_blocks(
    function: Callable[..., Parts], X: Data, *arguments: object, combine: Callable[..., object] = np.add
) -> Parts:
    """Combine ``function(block, *arguments)`` over the blocks of ``X``; each call returns a tuple of small arrays.

    >>> reduce_blocks(lambda block, factor: (factor * block.sum(axis=0),), np.ones((4, 2)), 3.0)
    (array([12., 12.]),)
    """
    if type(X) is not np.ndarray and isinstance(X, Streamed):  # asking for a protocol takes longer than coding a row
        return X.reduce(function, *arguments, combine=combine)
    return sum_blocks(lambda rows: function(X[rows], *arguments), X, combine)


def sum_blocks(function: Callable[[slice], Parts], X: Matrix, combine: Callable[..., object] = np.add) -> Parts:
    """Combine ``function(rows)`` over the blocks of rows of an array, for sums over several arrays side by side.

    >>> sum_blocks(lambda rows: (np.ones(3)[rows].sum(),), np.zeros((3, 2)))
    (array(3.),)
    """
    if 0 < X.shape[0] <= _block_length(X):  # small data take the direct way
        return combined((function(slice(0, X.shape[0])),))
    return combined(map_groups(lambda group: combined(map(function, group), combine), X), combine)


def for_blocks(function: Callable[[slice], None], X: Matrix) -> None:
    """Call ``function(rows)`` for every block of rows of an array; each call writes to its own rows.

    >>> for_blocks(print, np.zeros((3, 2)))
    slice(0, 3, None)
    """
    for _ in map_groups(lambda group: list(map(function, group)), X):
        pass


def map_groups(function: Callable[[list[slice]], T], X: Matrix) -> Iterator[T]:
    """Yield ``function(group)`` for groups of blocks of rows of an array, in order, one thread per group.

    There are at least eight groups if possible, of up to 16 blocks; fewer than four run in the calling thread. The
    groups, and so the results, do not depend on the number of threads.

    >>> list(map_groups(lambda group: sum(rows.stop - rows.start for rows in group), np.zeros((5, 2))))
    [5]
    """
    blocks = list(row_blocks(X))
    size = max(1, min(_BLOCKS_PER_GROUP, len(blocks) // _LEAST_GROUPS))
    groups = [blocks[i : i + size] for i in range(0, len(blocks), size)]
    threads = n_threads() if len(groups) >= _LEAST_SHARED else 1
    if threads == 1:
        yield from (function(group) for group in groups)
        return
    with own_threads():
        yield from stream_in_order((partial(function, group) for group in groups), threads)


def centred_product(X: Data, mean: Array, W: Array) -> Array:
    """``(X - 1 mean') W`` for dense or sparse ``X``, in the dtype of ``X``.

    >>> centred_product(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([2.0, 4.0]), np.array([[1.0], [1.0]])).ravel()
    array([-3.,  3.])
    """
    W = W.astype(X.dtype, copy=False)
    if type(X) is not np.ndarray and isinstance(X, Streamed):
        return X.project(mean, W)  # type: ignore[no-any-return]
    if is_sparse(X):
        return np.asarray(X @ np.ascontiguousarray(W) - mean @ W, dtype=X.dtype)
    out = np.empty((X.shape[0], W.shape[1]), dtype=X.dtype)

    def project(rows: slice) -> None:
        # Subtracting first keeps the digits that X W - m W would lose if the mean is large.
        np.matmul(X[rows] - mean, W, out=out[rows])

    for_blocks(project, X)
    return out


def spread(n: int, most: int) -> Ints:
    """Return the numbers of at most ``most`` of n rows, evenly spaced.

    >>> spread(9, 3), spread(2, 3)
    (array([0, 4, 8]), array([0, 1]))
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
