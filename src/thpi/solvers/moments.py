"""Means, principal axes and centred products of dense or sparse matrices.

Sums run over blocks of rows, and a sparse matrix is never made dense: ``(X - 1 m') W = X W - 1 (m' W)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils.extmath import svd_flip

from thpi._types import Array, InMemory
from thpi.solvers.blocks import Data, Streamed, centred_product, reduce_blocks, spread, sum_blocks

__all__ = ["Coordinates", "Moments", "centred_product", "column_mean", "cross_moment", "full_rank_coordinates"]
__all__ += ["principal_axes", "shifted_moments"]

EXACT_LIMIT = 4096
"""Up to this many rows or columns an eigenproblem is solved whole; above it, by Lanczos iterations."""


def column_mean(X: Data) -> Array:
    """Return the mean of each column, summed in float64, in the dtype of ``X``.

    >>> column_mean(np.array([[1.0, 2.0], [3.0, 6.0]]))
    array([2., 4.])
    """
    if isinstance(X, Streamed):
        return np.asarray(X.moments().mean, dtype=X.dtype)
    if sparse.issparse(X):
        total = _column_sums(X)
    else:
        (total,) = reduce_blocks(lambda block: (block.sum(axis=0, dtype=np.float64),), X)
    return np.asarray(total / X.shape[0], dtype=X.dtype)


def _column_sums(X: sparse.csr_array) -> Array:
    return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()


def cross_moment(A: Array, B: Array) -> Array:
    """``A'B`` over the rows: products in the dtype of the arrays, block by block, summed in float64.

    >>> cross_moment(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    return sum_blocks(lambda rows: (A[rows].T @ B[rows],), A)[0]


@dataclass(frozen=True)
class Moments:
    """Number of rows, mean, and scatter matrix ``(X - 1 m')'(X - 1 m')`` about it, in float64."""

    n: int
    mean: Array
    scatter: Array


def shifted_moments(X: Data, shift: Array) -> Moments:
    """Compute all three in one pass over ``X``: ``scatter = sum (x - s)(x - s)' - n (m - s)(m - s)'``.

    With a shift s near the mean (the mean of some rows) the two terms do not cancel, however far the mean is from zero.
    Products of float32 blocks are computed in float32 and added up in float64.

    >>> X = np.array([[1e8], [1e8 + 2]])
    >>> shifted_moments(X, np.array([1e8])).scatter
    array([[2.]])
    """
    n, total, products = reduce_blocks(block_moments, X, shift)
    offset = total / n
    return Moments(int(n), shift.astype(np.float64) + offset, products - n * np.outer(offset, offset))


def block_moments(block: Array, shift: Array) -> tuple[Array, Array, Array]:
    """Number of rows, sum and scatter matrix of rows less ``shift``."""
    centred = block - shift.astype(block.dtype, copy=False)
    return np.asarray(float(len(block))), centred.sum(axis=0, dtype=np.float64), centred.T @ centred


def _scatter(X: Data, mean: Array) -> Array:
    """``(X - 1 m')'(X - 1 m')``, d x d, in float64."""
    if isinstance(X, Streamed):
        return np.asarray(X.moments().scatter)
    if sparse.issparse(X):
        X, m = X.astype(np.float64), mean.astype(np.float64)
        # The cross terms use the exact column sums: the mean may be rounded to float32.
        cross = np.outer(_column_sums(X), m)
        return np.asarray((X.T @ X).toarray() - cross - cross.T + X.shape[0] * np.outer(m, m))
    return shifted_moments(X, mean).scatter


def _axes_by_lanczos(X: InMemory, mean: Array, n_components: int) -> tuple[Array, Array]:
    (n, d), m = X.shape, mean.astype(np.float64)
    operator = LinearOperator(
        (n, d),
        matvec=lambda v: np.asarray(X @ v) - m @ v,
        matmat=lambda V: np.asarray(X @ V) - m @ V,
        rmatvec=lambda u: np.asarray(X.T @ u) - m * u.sum(),
        rmatmat=lambda U: np.asarray(X.T @ U) - np.outer(m, U.sum(axis=0)),
        dtype=np.float64,
    )
    _, s, Vt = svds(operator, k=n_components, v0=np.random.RandomState(0).standard_normal(min(n, d)))
    order = np.argsort(s)[::-1]
    return Vt[order].T, s[order]


def _axes_by_rows(X: InMemory, mean: Array, n_components: int) -> tuple[Array, Array]:
    n, d = X.shape
    U, s = _row_factors(X, mean, min(n_components, n))
    # A Gram matrix squares the condition: below the root of eps its small values are noise.
    tiny = np.sqrt(np.finfo(np.float64).eps) if sparse.issparse(X) else max(n, d) * np.finfo(np.float64).eps
    kept = int((s > tiny * s[0]).sum()) if s[0] > 0 else 0
    V = _adjoint_product(X, mean, U[:, :kept]) / s[:kept]
    if kept:
        V = linalg.qr(V, mode="economic")[0]
    missing = n_components - kept
    if missing:
        extra = np.random.RandomState(0).standard_normal((d, missing))
        for _ in range(2):  # twice is enough (Kahan and Parlett)
            extra -= V @ (V.T @ extra)
        V = np.hstack([V, linalg.qr(extra, mode="economic")[0]])
    return V, np.pad(s[:kept], (0, missing))


def principal_axes(X: Data, mean: Array, n_components: int) -> tuple[Array, Array]:
    """Return the leading principal axes ``V`` (d x n_components, orthonormal) and singular values of ``X - 1 mean'``.

    Solved from the d x d scatter matrix or the n rows, or by Lanczos iterations if both are above ``EXACT_LIMIT`` (and
    X in memory). Axes without variance are arbitrary. The largest entry of each axis is positive, whatever LAPACK does.

    >>> V, s = principal_axes(np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.zeros(2), 2)
    >>> np.abs(V.round(6)).tolist(), s.round(3)
    ([[1.0, 0.0], [0.0, 1.0]], array([2.828, 1.414]))
    """
    n, d = X.shape
    large = min(n, d) > EXACT_LIMIT and n_components < min(n, d) // 2
    if d <= n and (isinstance(X, Streamed) or not large):
        V, s = _leading(_scatter(X, mean), n_components)
    else:
        solve = _axes_by_lanczos if large else _axes_by_rows
        V, s = solve(X.gather() if isinstance(X, Streamed) else X, mean, n_components)
    V = svd_flip(None, np.ascontiguousarray(V.T), u_based_decision=False)[1].T
    return V.astype(X.dtype), s


@dataclass(frozen=True)
class Coordinates:
    """Coordinates ``values`` of centred rows, and the map from them back to the features of the data.

    ``values = (X - 1 m') A``, where ``A`` is the identity (``axes`` and ``weights`` are None), or ``axes``, or
    ``(X - 1 m')' weights``, which is never computed: for texts it would be as large as a dense ``X``.
    """

    values: Array
    axes: Array | None = None
    rows: tuple[InMemory, Array] | None = None
    weights: Array | None = None

    def back(self, projection: Array) -> Array:
        """Turn a projection of ``values`` (r x c) into one of the data (d x c): ``A projection``."""
        if self.rows is not None and self.weights is not None:
            return _adjoint_product(*self.rows, self.weights @ projection).astype(self.values.dtype)
        return projection if self.axes is None else self.axes @ projection

    def scaled(self, factor: float) -> Coordinates:
        """Multiply the values. The map back stays: the sign of a projection does not depend on the scale."""
        return replace(self, values=self.values * self.values.dtype.type(factor))


def full_rank_coordinates(X: InMemory, mean: Array) -> Coordinates:
    """Return dense coordinates (n x r) with the same distances and inner products as ``X - 1 mean'``.

    If d <= n these are the centred data, sparse or not, or their principal coordinates if the columns are dependent. If
    d > n (texts) the rows span fewer than n directions. So R is sought in the span of the rows; a linear method whose
    solution lies there has the same one in the coordinates.

    >>> coordinates = full_rank_coordinates(np.array([[1.0, 0, 0], [-1.0, 0, 0]]), np.zeros(3))
    >>> np.abs(coordinates.values).ravel(), np.abs(coordinates.back(np.eye(1))).ravel()
    (array([1., 1.]), array([1., 0., 0.]))
    """
    n, d = X.shape
    if min(n, d) > EXACT_LIMIT and (d > n or sparse.issparse(X)):
        raise ValueError(
            f"A matrix of {n} rows and {d} columns is too large for this method, which takes at most "
            f"{EXACT_LIMIT} rows or columns; reduce it first, for example with sklearn's TruncatedSVD."
        )
    if d <= n:
        return _tall_coordinates(sparse.csr_array(X).toarray() if sparse.issparse(X) else np.asarray(X), mean)
    U, s = _row_factors(X, mean, n)
    U, s = U[:, : _rank(s)], s[: _rank(s)]
    # The sign of a coordinate is arbitrary: its largest entry is made positive, so that LAPACK does not matter.
    U = U * np.where(U[np.abs(U).argmax(axis=0), np.arange(len(s))] < 0, -1.0, 1.0)
    weights = U / np.maximum(s, np.finfo(np.float64).tiny)
    return Coordinates((U * s).astype(X.dtype), rows=(X, mean), weights=weights)


def _tall_coordinates(X: Array, mean: Array) -> Coordinates:
    n, d = X.shape
    tiny = 1e-7 if X.dtype == np.float64 else 1e-5
    # Where some rows span all columns, all rows do: nearly always, and at a cost independent of n.
    some = X[spread(n, 2 * d)].astype(np.float64) - mean
    if d > EXACT_LIMIT or _rank(linalg.svdvals(some), tiny) == d:
        return Coordinates(np.asarray(X - mean))
    # Products in float32 would hide the rank.
    V, s = principal_axes(X.astype(np.float64), mean.astype(np.float64), d)
    V = np.ascontiguousarray(V[:, : _rank(s, tiny)], dtype=X.dtype)
    return Coordinates(centred_product(X, mean, V), axes=V)


def _rank(s: Array, tiny: float = 1e-7) -> int:
    return max(1, int((s > tiny * s[0]).sum()))


def _adjoint_product(X: InMemory, mean: Array, U: Array) -> Array:
    """``(X - 1 m')' U`` in float64."""
    return np.asarray(X.T @ U) - np.outer(mean.astype(np.float64), U.sum(axis=0))


def _row_factors(X: InMemory, mean: Array, n_components: int) -> tuple[Array, Array]:
    """Left singular vectors and singular values of ``X - 1 m'`` with n < d, largest first."""
    m = mean.astype(np.float64)
    if sparse.issparse(X):
        X = X.astype(np.float64)
        along = np.asarray(X @ m)
        return _leading((X @ X.T).toarray() - along[:, None] - along[None, :] + m @ m, n_components)
    U, s, _ = linalg.svd(np.asarray(X, dtype=np.float64) - m, full_matrices=False)
    return U[:, :n_components], s[:n_components]


def _leading(square: Array, n_components: int) -> tuple[Array, Array]:
    """Return the leading eigenvectors of a Gram matrix and the roots of its eigenvalues, largest first."""
    n = len(square)
    values, vectors = linalg.eigh(square, subset_by_index=[n - n_components, n - 1])
    return vectors[:, ::-1], np.sqrt(np.maximum(values[::-1], 0))
