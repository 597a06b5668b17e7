"""Encoding and ITQ against what a user would otherwise take; see :mod:`benchmarks._cases`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import faiss
import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

import thpi
from benchmarks._cases import Case
from thpi._types import Array
from thpi.solvers.moments import centred_product, column_mean, principal_axes
from thpi.solvers.procrustes import polar


def cases(full: bool) -> Iterator[Case]:
    yield _encode(1_000_000 if full else 200_000)
    yield _encode_sparse(100_000 if full else 50_000)
    yield from _itq(100_000, 50)


def _rows(n: int, d: int, n_latent: int = 80) -> Array:
    """Unit rows around a subspace, as deep features are."""
    rng = np.random.RandomState(0)
    mixing = rng.standard_normal((n_latent, d)) * np.linspace(1, 0.2, n_latent)[:, None]
    X = rng.standard_normal((n, n_latent)).astype(np.float32) @ mixing.astype(np.float32)
    X += 0.3 * rng.standard_normal((n, d)).astype(np.float32)
    unit: Array = normalize(X, copy=False)
    return unit


def _encode(n: int) -> Case:
    X = np.concatenate([_rows(50_000, 512)] * (n // 50_000))
    hasher = thpi.ITQ(64, max_iter=5, random_state=0).fit(X[:20_000])
    W = hasher.projection_
    what = f"encode {n:,} x 512 to 64 bits, float32"
    return Case(
        what, "X @ W", 1.2, lambda: hasher.transform(X), lambda: X @ W,
        operations=2.0 * X.size * 64, bytes_read=X.nbytes,
    )  # fmt: skip


def _encode_sparse(n: int) -> Case:
    rng = np.random.RandomState(0)
    # Word frequencies fall as 1 / rank; some 60 terms per document.
    weights = 1 / np.arange(1, 20_001)
    terms = rng.choice(20_000, size=(n, 60), p=weights / weights.sum())
    values = rng.uniform(0.5, 1.5, size=terms.size).astype(np.float32)
    X = normalize(sparse.csr_matrix((values, terms.ravel(), np.arange(0, terms.size + 1, 60)), shape=(n, 20_000)))
    X.sum_duplicates()
    hasher = thpi.LSH(64, random_state=0).fit(X)
    W = hasher.projection_
    return Case(f"encode sparse tf-idf {n:,} x 20,000", "X @ W", 1.3, lambda: hasher.transform(X), lambda: X @ W)


def _itq(n: int, n_iter: int) -> Iterator[Case]:
    X = _rows(n, 512)
    mean = column_mean(X)
    V, _ = principal_axes(X, mean, 64)
    Z = centred_product(X, mean, V)

    def ours() -> Array:
        return thpi.ITQ(64, max_iter=n_iter, tol=0, random_state=0).fit(X).projection_

    def with_faiss() -> Array:
        # It scales rows to unit length first, which these rows have already: both sides minimise the same loss.
        itq = faiss.ITQTransform(512, 64, True)
        itq.max_train_per_dim = n
        itq.itq.max_iter = n_iter
        itq.train(X)
        return faiss.vector_to_array(itq.pca_then_itq.A).reshape(64, 512).T

    def products() -> Array:
        # What no implementation of n_iter iterations over all rows can avoid.
        (X - mean).T @ (X - mean)
        B = (X - mean) @ V
        for _ in range(n_iter):
            Z.T @ (Z @ V[:64])
        return B

    def compare(W: Array, other: Array) -> str:
        losses = [_loss(X, mean, projection) for projection in (W, other)]
        if losses[0] > losses[1]:
            raise AssertionError(f"loss {losses[0]:.6g} is above that of faiss, {losses[1]:.6g}")
        return f"loss {losses[0]:.6g}, of faiss {losses[1]:.6g}"

    title = f"ITQ fit {n:,} x 512 to 64 bits, {n_iter} iterations"
    # Half of X'X, the projection, and a tenth of the iterations on all rows: Z R and Z'B.
    limit: dict[str, Any] = {
        "operations": X.size * 512.0 + 2 * X.size * 64 + (n_iter / 10) * 4 * Z.size * 64,
        "bytes_read": 2 * X.nbytes,
    }
    yield Case(title, "faiss ITQTransform on all rows", 1 / 3, ours, with_faiss, compare, repeats=3, **limit)
    yield Case(title, "its matrix products, all iterations on all rows", 1.5, ours, products, repeats=3, **limit)


def _loss(X: Array, mean: Array, W: Array) -> float:
    W = polar(W)  # both have orthonormal columns but for rounding
    values = (X - mean) @ W.astype(np.float32)
    return float(np.square(np.where(values >= 0, 1, -1) - values, dtype=np.float64).sum())
