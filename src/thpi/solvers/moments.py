"""Means, principal axes and centred products of dense or sparse matrices, without a centred copy.

Everything runs over blocks of rows, so that a memory-mapped matrix larger than memory will do, and a sparse
matrix is never made dense: ``(X - 1 m') W = X W - 1 (m' W)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils import gen_batches
from sklearn.utils.extmath import svd_flip

__all__ = ["centred_product", "column_mean", "full_rank_coordinates", "principal_axes"]

Array = npt.NDArray[Any]

EXACT_LIMIT = 4096
"""Up to this many rows or columns an eigenproblem is solved whole; above it, by Lanczos iterations."""

BLOCK_BYTES = 2**25


def row_blocks(X: Any) -> Iterator[slice]:
    """Cut the rows of ``X`` into blocks of about 32 MiB of float64."""
    yield from gen_batches(X.shape[0], max(1, BLOCK_BYTES // (8 * max(1, X.shape[1]))))


def column_mean(X: Any) -> Array:
    """Mean of each column, summed in float64 and given in the dtype of ``X``.

    >>> column_mean(np.array([[1.0, 2.0], [3.0, 6.0]]))
    array([2., 4.])
    """
    if sparse.issparse(X):
        total = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
    else:
        total = sum((X[rows].sum(axis=0, dtype=np.float64) for rows in row_blocks(X)), np.zeros(X.shape[1]))
    return np.asarray(total / X.shape[0], dtype=X.dtype)


def centred_product(X: Any, mean: Array, W: Array) -> Array:
    """``(X - 1 mean') W`` for dense or sparse ``X``, in the dtype of ``X``.

    >>> centred_product(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([2.0, 4.0]), np.array([[1.0], [1.0]]))
    array([[-3.],
           [ 3.]])
    """
    W = W.astype(X.dtype, copy=False)
    if sparse.issparse(X):
        return np.asarray(X @ W - mean @ W)
    # Subtracting first, block by block, keeps the digits that X W - m W would lose where the mean is large.
    out = np.empty((X.shape[0], W.shape[1]), dtype=X.dtype)
    for rows in row_blocks(X):
        np.matmul(X[rows] - mean, W, out=out[rows])
    return out


def _scatter(X: Any, mean: Array) -> Array:
    """``(X - 1 m')'(X - 1 m')``, d x d, in float64."""
    m = mean.astype(np.float64)
    if sparse.issparse(X):
        X = X.astype(np.float64)
        # The cross terms use the exact column sums: the mean may be rounded to float32.
        total = np.asarray(X.sum(axis=0)).ravel()
        cross = np.outer(total, m)
        return np.asarray((X.T @ X).toarray() - cross - cross.T + X.shape[0] * np.outer(m, m))
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for rows in row_blocks(X):
        block = X[rows].astype(np.float64) - m
        scatter += block.T @ block
    return scatter


def _sparse_gram(X: Any, mean: Array) -> Array:
    """``(X - 1 m')(X - 1 m')'``, n x n, of a sparse ``X``, in float64."""
    X = X.astype(np.float64)
    m = mean.astype(np.float64)
    along = np.asarray(X @ m)
    return np.asarray((X @ X.T).toarray() - along[:, None] - along[None, :] + m @ m)


def _axes_by_lanczos(X: Any, mean: Array, n_components: int) -> tuple[Array, Array]:
    m = mean.astype(np.float64)
    n, d = X.shape
    operator = LinearOperator(
        (n, d),
        matvec=lambda v: np.asarray(X @ v) - m @ v,
        matmat=lambda V: np.asarray(X @ V) - m @ V,
        rmatvec=lambda u: np.asarray(X.T @ u) - m * u.sum(),
        rmatmat=lambda U: np.asarray(X.T @ U) - np.outer(m, U.sum(axis=0)),
        dtype=np.float64,
    )
    start = np.random.RandomState(0).standard_normal(min(n, d))
    _, s, Vt = svds(operator, k=n_components, v0=start)
    order = np.argsort(s)[::-1]
    return Vt[order].T, s[order]


def _complete(V: Array, n_components: int) -> Array:
    """Append orthonormal columns to ``V`` (d x r) until it has ``n_components``."""
    missing = n_components - V.shape[1]
    if missing <= 0:
        return V
    extra = np.random.RandomState(0).standard_normal((V.shape[0], missing))
    for _ in range(2):  # twice is enough (Kahan and Parlett)
        extra -= V @ (V.T @ extra)
    return np.hstack([V, linalg.qr(extra, mode="economic")[0]])


def principal_axes(X: Any, mean: Array, n_components: int) -> tuple[Array, Array]:
    """Leading principal axes ``V`` (d x n_components, orthonormal) and singular values of ``X - 1 mean'``.

    Solved from the d x d scatter matrix where d <= n, from the n rows where n < d, and by Lanczos iterations
    where both are above ``EXACT_LIMIT``. Axes without variance (constant or duplicate columns, few distinct
    rows) are filled up by some orthonormal directions. The largest entry of each axis is positive, so that
    signs do not depend on the LAPACK in use.

    >>> V, s = principal_axes(np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.zeros(2), 2)
    >>> np.abs(V.round(6)), s.round(3)
    (array([[1., 0.],
           [0., 1.]]), array([2.828, 1.414]))
    """
    n, d = X.shape
    if not 1 <= n_components <= d:
        raise ValueError(f"n_components={n_components} must be between 1 and the number of columns, {d}.")
    if min(n, d) > EXACT_LIMIT and n_components < min(n, d) // 2:
        V, s = _axes_by_lanczos(X, mean, n_components)
    elif d <= n:
        values, V = linalg.eigh(_scatter(X, mean), subset_by_index=[d - n_components, d - 1])
        V, s = V[:, ::-1], np.sqrt(np.maximum(values[::-1], 0))
    else:
        r = min(n_components, n)
        if sparse.issparse(X):
            values, U = linalg.eigh(_sparse_gram(X, mean), subset_by_index=[n - r, n - 1])
            U, s = U[:, ::-1], np.sqrt(np.maximum(values[::-1], 0))
            tiny = np.sqrt(np.finfo(np.float64).eps)  # a Gram matrix squares the condition
        else:
            U, s, _ = linalg.svd(X.astype(np.float64) - mean.astype(np.float64), full_matrices=False)
            U, s = U[:, :r], s[:r]
            tiny = max(n, d) * np.finfo(np.float64).eps
        kept = int((s > tiny * s[0]).sum()) if s[0] > 0 else 0
        U, s = U[:, :kept], s[:kept]
        m = mean.astype(np.float64)
        V = (np.asarray(X.T @ U) - np.outer(m, U.sum(axis=0))) / s
        V, _ = linalg.qr(V, mode="economic") if kept else (V, None)
        V = _complete(V, n_components)
        s = np.pad(s, (0, n_components - kept))
    V = svd_flip(None, np.ascontiguousarray(V.T), u_based_decision=False)[1].T
    return V.astype(X.dtype), s


def full_rank_coordinates(X: Any, mean: Array) -> tuple[Array, Array | None]:
    """Dense coordinates ``Z`` (n x r) that hold all of ``X - 1 mean'``, and the axes ``V`` with ``Z = (X - 1 m')V``.

    Where d <= n and ``X`` is dense these are the centred data themselves and ``V`` is None. Where d > n (texts:
    a few hundred rows, many thousand columns) the rows span at most n directions; every linear method whose
    solution lies in that span gives the same answer from the n x r coordinates, at a cost linear in d.

    >>> Z, V = full_rank_coordinates(np.array([[1.0, 0, 0], [-1.0, 0, 0]]), np.zeros(3))
    >>> np.abs(Z), np.abs(V)
    (array([[1.],
           [1.]]), array([[1.],
           [0.],
           [0.]]))
    """
    n, d = X.shape
    if d <= n and not sparse.issparse(X):
        return np.asarray(X - mean), None
    if min(n, d) > EXACT_LIMIT:
        raise ValueError(
            f"A sparse matrix of {n} rows and {d} columns is too large for this method, which takes at most "
            f"{EXACT_LIMIT} rows or columns; reduce it first, for example with sklearn's TruncatedSVD."
        )
    V, s = principal_axes(X, mean, min(n, d))
    rank = max(1, int((s > 1e-7 * s[0]).sum()) if s[0] > 0 else 1)
    V = np.ascontiguousarray(V[:, :rank])
    return centred_product(X, mean, V), V
