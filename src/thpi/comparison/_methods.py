"""The codes that are compared, by name: each learns from some rows and codes others in a given number of bytes.

Signs are searched in both orders, all others by estimates of the distance. Product and scalar quantisers estimate
``|q - x|^2`` by ``|q - x^|^2``, where ``x^`` is what the code says of x. RaBitQ estimates ``<q, x>`` without bias from
signs, a norm and a correction factor of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from thpi._types import Array, Codes, Ints
from thpi.auto import AutoHasher
from thpi.base import BaseHasher, TooManyBitsError
from thpi.codes import n_bytes, pack_signs
from thpi.comparison._quantiser import CENTROIDS, ResidualQuantiser
from thpi.hashers import ITQ
from thpi.index import HammingIndex, Order, faiss_module
from thpi.solvers.moments import principal_axes

_AUTO_BYTES = 32  # its candidates take long for more bits, and gain little
_SUBSPACE = 8  # dimensions that one byte of OPQ describes, at most; more of them have hardly any variance left
_MOST_RESIDUAL_BYTES = 64  # longer codes take long to learn, and dimensions coded one by one are as good

Search: TypeAlias = Callable[[Array, int], Ints]
"""Positions of the ``k`` rows nearest to each query, by the codes of all rows: (queries, k) to (n_queries, k)."""


class Coded(NamedTuple):
    """The rows that are searched, as codes: bytes of a row, bytes that all share, and exhaustive searches by order."""

    n_bytes: int
    shared_bytes: int
    searches: Mapping[str, Search]


class Training(NamedTuple):
    """Rows to learn from and rows to search, in float32, and the seed of all draws."""

    X: Array
    searched: Array
    seed: int

    @property
    def n_dims(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def most_axes(self) -> int:
        """Number of principal axes, at most: centred rows span no more."""
        return min(self.n_dims, len(self.X) - 1)


Method: TypeAlias = Callable[[Training, int], "Coded | None"]
"""A way to code rows: returns the largest code with at most the given bytes per row, or None if there is none."""


def _sign(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of its dimensions, as ``binary_quantize`` of pgvector does: there is one size."""
    if n_bytes(rows.n_dims) > most:
        return None
    return _signs(pack_signs(rows.searched), rows.n_dims, lambda X: X, 0)


def _rotation(rows: Training, most: int) -> Coded:
    """Code a row by the signs of its principal coordinates after a random rotation."""
    n_bits = min(8 * most, rows.most_axes)
    mean = rows.X.mean(axis=0, dtype=np.float64)
    rotation = np.linalg.qr(np.random.RandomState(rows.seed).standard_normal((n_bits, n_bits)))[0]
    projection = principal_axes(rows.X, mean.astype(np.float32), n_bits)[0] @ rotation

    def project(X: Array) -> Array:
        return np.asarray((X - mean) @ projection)

    return _signs(pack_signs(project(rows.searched)), n_bits, project, 4 * (projection.size + rows.n_dims))


def _itq(rows: Training, most: int) -> Coded:
    return _hashed(ITQ(min(8 * most, rows.most_axes), random_state=rows.seed), rows)


def _auto(rows: Training, most: int) -> Coded | None:
    if most > _AUTO_BYTES:
        return None
    try:
        return _hashed(AutoHasher(8 * most, relevance="target", random_state=rows.seed), rows)
    except TooManyBitsError:
        return None


def _hashed(hasher: BaseHasher, rows: Training) -> Coded:
    hasher.fit(rows.X)
    arrays = (value for name, value in vars(hasher).items() if name.endswith("_") and isinstance(value, np.ndarray))
    shared = sum(array.nbytes for array in arrays)
    return _signs(hasher.transform(rows.searched), hasher.n_bits, hasher.decision_function, shared)


def _signs(codes: Codes, n_bits: int, project: Callable[[Array], Array], shared_bytes: int) -> Coded:
    index = HammingIndex(n_bits)
    index.add(codes)

    def search(order: Order) -> Search:
        return lambda X, k: index.search(np.asarray(project(X), dtype=np.float64), k, order=order).ids

    return Coded(n_bytes(n_bits), shared_bytes, {"Hamming": search("hamming"), "asymmetric": search("asymmetric")})


def _float(rows: Training, most: int) -> Coded:
    """Keep the vectors as they are, in float32; there is one size, whatever is asked for."""
    return _of_faiss(faiss_module().IndexFlatL2(rows.n_dims), rows, "exact")


def _scalar(kind: str, bits: int, *, whole: bool = False) -> Method:
    """Scalar quantisation of the leading principal coordinates, ``bits`` each; of all dimensions if they fit."""

    def code(rows: Training, most: int) -> Coded | None:
        faiss = faiss_module()
        m = rows.n_dims if whole else min(8 * most // bits, rows.n_dims)
        if rows.most_axes < m < rows.n_dims:
            return None
        index = faiss.IndexScalarQuantizer(m, getattr(faiss.ScalarQuantizer, kind), faiss.METRIC_L2)
        return _of_faiss(
            index if m == rows.n_dims else faiss.IndexPreTransform(faiss.PCAMatrix(rows.n_dims, m), index), rows
        )

    return code


def _product(rows: Training, most: int) -> Coded | None:
    """Cut the dimensions into ``most`` parts, and code each by the nearest of 256 centroids: product quantisation."""
    faiss, d, m = faiss_module(), rows.n_dims, most
    if m > d or len(rows.X) < CENTROIDS:
        return None
    # Parts have equal numbers of dimensions; what is missing is filled up with zeros.
    wide = -(-d // m) * m
    step, index = faiss.RemapDimensionsTransform(d, wide, False), _product_index(wide, m, rows.seed)
    return _of_faiss(index if wide == d else faiss.IndexPreTransform(step, index), rows)


def _rotated_product(rows: Training, most: int) -> Coded | None:
    """Product quantisation after the rotation that suits it: OPQ (Ge et al. 2013)."""
    faiss, d, m = faiss_module(), rows.n_dims, most
    wide = min(d, _SUBSPACE * m) // m * m
    if not wide or len(rows.X) < CENTROIDS:
        return None
    rotation = faiss.OPQMatrix(d, m, wide)
    rotation.niter = 15
    rotation.pq = pq = faiss.ProductQuantizer(wide, m, 8)
    _seed(pq.cp, rows.seed)
    coded = _of_faiss(faiss.IndexPreTransform(rotation, _product_index(wide, m, rows.seed)), rows)
    rotation.pq = None  # it belongs to Python, not to the index
    return coded


def _rabitq(bits: int) -> Method:
    """RaBitQ with 1, 2 or 4 bits a dimension, of as many principal coordinates as fit, randomly rotated."""

    def code(rows: Training, most: int) -> Coded | None:
        faiss = faiss_module()
        if not hasattr(faiss, "IndexRaBitQ"):
            raise NotImplementedError("this faiss has no IndexRaBitQ")
        sizes = {m: faiss.RaBitQuantizer(m, faiss.METRIC_L2, bits).code_size for m in range(8, rows.most_axes + 1)}
        if (m := max((m for m, size in sizes.items() if size <= most), default=0)) == 0:
            return None
        index = faiss.IndexRaBitQ(m, faiss.METRIC_L2, bits)
        index.qb = 8  # bits of a query, which is rounded to bytes
        return _of_faiss(faiss.IndexPreTransform(faiss.PCAMatrix(rows.n_dims, m, 0, True), index), rows)

    return code


def _residual(rows: Training, most: int) -> Coded | None:
    """Code a row by a sum of centroids and an offset."""
    if most < 2 or most > _MOST_RESIDUAL_BYTES or len(rows.X) < CENTROIDS:
        return None
    quantiser = ResidualQuantiser(most, random_state=rows.seed).fit(rows.X)
    index = quantiser.index(quantiser.transform(rows.searched))
    shared = 4 * sum(array.size for array in (quantiser.mean_, quantiser.axes_, quantiser.centroids_))
    return Coded(most, shared, {"asymmetric": partial(_search, index)})


def _product_index(d: int, m: int, seed: int) -> Any:
    index = faiss_module().IndexPQ(d, m, 8)
    _seed(index.pq.cp, seed)
    return index


def _seed(clustering: Any, seed: int) -> None:
    clustering.seed = seed + 1  # faiss takes 0 for no seed
    clustering.min_points_per_centroid = 1  # or faiss prints a warning about few rows


def _of_faiss(index: Any, rows: Training, order: str = "asymmetric") -> Coded:
    index.train(rows.X)
    shared = faiss_module().serialize_index(index).size  # all that is written of an index without rows
    index.add(rows.searched)
    return Coded(index.sa_code_size(), int(shared), {order: partial(_search, index)})


def _search(index: Any, queries: Array, k: int) -> Ints:
    return np.asarray(index.search(np.ascontiguousarray(queries, dtype=np.float32), k)[1], dtype=np.int64)


METHODS: dict[str, Method] = {
    "sign": _sign,
    "rotation": _rotation,
    "ITQ": _itq,
    "AutoHasher": _auto,
    "PQ": _product,
    "OPQ": _rotated_product,
    **{f"RaBitQ {bits}": _rabitq(bits) for bits in (1, 2, 4)},
    "residual": _residual,
    "SQ 4": _scalar("QT_4bit", 4),
    "SQ 8": _scalar("QT_8bit", 8),
    "half": _scalar("QT_fp16", 16, whole=True),
    "float": _float,
}
"""The kinds of codes that are compared, by name: functions that code rows in at most a given number of bytes."""
