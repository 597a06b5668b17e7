"""Codes that faiss searches: product, scalar, RaBitQ and residual quantisation, and float vectors; all asymmetric.

Product and scalar quantisers estimate ``|q - x|^2`` by ``|q - x^|^2``, where ``x^`` is what the code says of x. RaBitQ
estimates ``<q, x>`` without bias from signs, a norm and a correction factor of each row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from thpi._types import Array, Floats, Ints
from thpi.comparison._method import Coded, Training
from thpi.comparison._quantiser import ResidualQuantiser, linear_step
from thpi.index._exact import faiss_module

_CENTROIDS = 256
_SUBSPACE = 8  # dimensions that one byte of OPQ describes, at most; more of them have hardly any variance left
_OPQ_ROUNDS = 15
_MOST_RESIDUAL_BYTES = 64  # longer codes take long to learn, and dimensions coded one by one are as good
_QUERY_BITS = 8  # of RaBitQ: queries are rounded to bytes


def float_code(rows: Training, most: int) -> Coded | None:
    """Keep the vectors as they are, in float32."""
    faiss = faiss_module()
    if 4 * rows.n_dims > most:
        return None
    return _coded(faiss.IndexFlatL2(rows.n_dims), rows, 4 * rows.n_dims, 0, "exact")


def scalar_code(kind: str, bits: int) -> Callable[[Training, int], Coded | None]:
    """Return scalar quantisation of the leading principal coordinates, ``bits`` each; of all dimensions if they fit."""

    def code(rows: Training, most: int) -> Coded | None:
        faiss = faiss_module()
        m = min(8 * most // bits, rows.n_dims)
        inner = faiss.IndexScalarQuantizer(m, getattr(faiss.ScalarQuantizer, kind), faiss.METRIC_L2)
        if m == rows.n_dims:
            return _coded(inner, rows, inner.code_size, 8 * m)
        if m > rows.most_axes:
            return None
        return _projected(inner, rows, rows.axes[:, :m], 8 * m)

    return code


def product_code(rows: Training, most: int) -> Coded | None:
    """Cut the dimensions into ``most`` parts, and code each by the nearest of 256 centroids: product quantisation."""
    d, m = rows.n_dims, most
    if m > d or len(rows.X) < _CENTROIDS:
        return None
    # Parts have equal numbers of dimensions; what is missing is filled up with zeros.
    wide = -(-d // m) * m
    inner = _product(wide, m, rows.seed)
    shared = 4 * _CENTROIDS * d
    return _coded(inner, rows, m, shared) if wide == d else _projected(inner, rows, np.eye(d, wide), shared)


def rotated_product_code(rows: Training, most: int) -> Coded | None:
    """Product quantisation after the rotation that suits it: OPQ (Ge et al. 2013)."""
    faiss = faiss_module()
    d, m = rows.n_dims, most
    wide = min(d, _SUBSPACE * m) // m * m
    if not wide or len(rows.X) < _CENTROIDS:
        return None
    rotation = faiss.OPQMatrix(d, m, wide)
    rotation.niter = _OPQ_ROUNDS
    rotation.pq = pq = faiss.ProductQuantizer(wide, m, 8)
    _seed(pq.cp, rows.seed)
    index = faiss.IndexPreTransform(rotation, _product(wide, m, rows.seed))
    coded = _coded(index, rows, m, 4 * wide * (_CENTROIDS + d))
    rotation.pq = None  # it belongs to Python, not to the index
    return coded


def rabitq_code(bits: int) -> Callable[[Training, int], Coded | None]:
    """Return RaBitQ with 1, 2 or 4 bits a dimension, of as many principal coordinates as fit, randomly rotated."""

    def code(rows: Training, most: int) -> Coded | None:
        faiss = faiss_module()

        def size(m: int) -> int:
            return int(faiss.RaBitQuantizer(m, faiss.METRIC_L2, bits).code_size)

        fitting = [m for m in range(8, rows.most_axes + 1) if size(m) <= most]
        if not fitting:
            return None
        m = fitting[-1]
        inner = faiss.IndexRaBitQ(m, faiss.METRIC_L2, bits)
        inner.qb = _QUERY_BITS
        return _projected(inner, rows, rows.axes[:, :m] @ rows.rotation(m), 4 * m)

    return code


def residual_code(rows: Training, most: int) -> Coded | None:
    """Code a row by a sum of centroids and an offset."""
    if most < 2 or most > _MOST_RESIDUAL_BYTES or len(rows.X) < _CENTROIDS:
        return None
    quantiser = ResidualQuantiser(most, random_state=rows.seed).fit(rows.X)
    index = quantiser.index(quantiser.transform(rows.searched))
    shared = 4 * sum(array.size for array in (quantiser.mean_, quantiser.axes_, quantiser.centroids_))
    return Coded(most, shared, {"asymmetric": partial(_search, index)})


def _product(d: int, m: int, seed: int) -> Any:
    faiss = faiss_module()
    index = faiss.IndexPQ(d, m, 8)
    _seed(index.pq.cp, seed)
    return index


def _seed(clustering: Any, seed: int) -> None:
    clustering.seed = seed + 1  # faiss takes 0 for no seed
    clustering.min_points_per_centroid = 1  # or faiss prints a warning about few rows


def _projected(inner: Any, rows: Training, axes: Floats, shared_bytes: int) -> Coded:
    """Code the coordinates of rows along ``axes`` about their mean, in columns."""
    index = faiss_module().IndexPreTransform(linear_step(axes, rows.mean), inner)
    return _coded(index, rows, inner.code_size, shared_bytes + 4 * (axes.size + axes.shape[1]))


def _coded(index: Any, rows: Training, n_bytes: int, shared_bytes: int, order: str = "asymmetric") -> Coded:
    index.train(rows.X)
    index.add(rows.searched)
    return Coded(n_bytes, shared_bytes, {order: partial(_search, index)})


def _search(index: Any, queries: Array, k: int) -> Ints:
    return np.asarray(index.search(np.ascontiguousarray(queries, dtype=np.float32), k)[1], dtype=np.int64)
