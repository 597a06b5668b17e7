"""Codes that faiss searches: product, scalar, RaBitQ and residual quantisation, and float vectors; all asymmetric.

Product and scalar quantisers estimate ``|q - x|^2`` by ``|q - x^|^2``, where ``x^`` is what the code says of x. RaBitQ
estimates ``<q, x>`` without bias from signs, a norm and a correction factor of each row.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from thpi._types import Array, Ints
from thpi.comparison._method import Coded, Method, Training
from thpi.comparison._quantiser import ResidualQuantiser
from thpi.index import faiss_module

_CENTROIDS = 256
_SUBSPACE = 8  # dimensions that one byte of OPQ describes, at most; more of them have hardly any variance left
_OPQ_ROUNDS = 15
_MOST_RESIDUAL_BYTES = 64  # longer codes take long to learn, and dimensions coded one by one are as good
_QUERY_BITS = 8  # of RaBitQ: queries are rounded to bytes


def float_code(rows: Training, most: int) -> Coded | None:
    """Keep the vectors as they are, in float32; there is one size, whatever is asked for."""
    return _coded(faiss_module().IndexFlatL2(rows.n_dims), rows, "exact")


def half_code(rows: Training, most: int) -> Coded | None:
    """Keep the vectors in float16, also in one size."""
    return scalar_code("QT_fp16", 16)(rows, 2 * rows.n_dims)


def scalar_code(kind: str, bits: int) -> Method:
    """Return scalar quantisation of the leading principal coordinates, ``bits`` each; of all dimensions if they fit."""

    def code(rows: Training, most: int) -> Coded | None:
        faiss = faiss_module()
        m = min(8 * most // bits, rows.n_dims)
        if rows.most_axes < m < rows.n_dims:
            return None
        index = faiss.IndexScalarQuantizer(m, getattr(faiss.ScalarQuantizer, kind), faiss.METRIC_L2)
        return _coded(index if m == rows.n_dims else _behind(faiss.PCAMatrix(rows.n_dims, m), index), rows)

    return code


def product_code(rows: Training, most: int) -> Coded | None:
    """Cut the dimensions into ``most`` parts, and code each by the nearest of 256 centroids: product quantisation."""
    d, m = rows.n_dims, most
    if m > d or len(rows.X) < _CENTROIDS:
        return None
    # Parts have equal numbers of dimensions; what is missing is filled up with zeros.
    wide = -(-d // m) * m
    index = _product(wide, m, rows.seed)
    return _coded(index if wide == d else _behind(faiss_module().RemapDimensionsTransform(d, wide, False), index), rows)


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
    coded = _coded(_behind(rotation, _product(wide, m, rows.seed)), rows)
    rotation.pq = None  # it belongs to Python, not to the index
    return coded


def rabitq_code(bits: int) -> Method:
    """Return RaBitQ with 1, 2 or 4 bits a dimension, of as many principal coordinates as fit, randomly rotated."""

    def code(rows: Training, most: int) -> Coded | None:
        faiss = faiss_module()
        if not hasattr(faiss, "IndexRaBitQ"):
            raise NotImplementedError("this faiss has no IndexRaBitQ")
        every = range(8, rows.most_axes + 1)
        fitting = [m for m in every if faiss.RaBitQuantizer(m, faiss.METRIC_L2, bits).code_size <= most]
        if not fitting:
            return None
        index = faiss.IndexRaBitQ(fitting[-1], faiss.METRIC_L2, bits)
        index.qb = _QUERY_BITS
        return _coded(_behind(faiss.PCAMatrix(rows.n_dims, fitting[-1], 0, True), index), rows)

    return code


def residual_code(rows: Training, most: int) -> Coded | None:
    """Code a row by a sum of centroids and an offset."""
    if most < 2 or most > _MOST_RESIDUAL_BYTES or len(rows.X) < _CENTROIDS:
        return None
    quantiser = ResidualQuantiser(most, random_state=rows.seed).fit(rows.X)
    index = quantiser.index(quantiser.transform(rows.searched))
    shared = 4 * sum(array.size for array in (quantiser.mean_, quantiser.axes_, quantiser.centroids_))
    return Coded(most, shared, {"asymmetric": partial(_search, index)})


def _behind(step: Any, index: Any) -> Any:
    return faiss_module().IndexPreTransform(step, index)


def _product(d: int, m: int, seed: int) -> Any:
    index = faiss_module().IndexPQ(d, m, 8)
    _seed(index.pq.cp, seed)
    return index


def _seed(clustering: Any, seed: int) -> None:
    clustering.seed = seed + 1  # faiss takes 0 for no seed
    clustering.min_points_per_centroid = 1  # or faiss prints a warning about few rows


def _coded(index: Any, rows: Training, order: str = "asymmetric") -> Coded:
    index.train(rows.X)
    shared = faiss_module().serialize_index(index).size  # all that is written of an index without rows
    index.add(rows.searched)
    return Coded(index.sa_code_size(), int(shared), {order: partial(_search, index)})


def _search(index: Any, queries: Array, k: int) -> Ints:
    return np.asarray(index.search(np.ascontiguousarray(queries, dtype=np.float32), k)[1], dtype=np.int64)
