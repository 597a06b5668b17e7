"""Binary codes: signs of the dimensions, of rotated principal axes, of ITQ and of AutoHasher; both orders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thpi._types import Array, Codes, Floats
from thpi.auto import AutoHasher
from thpi.base import BaseHasher, TooManyBitsError
from thpi.codes import n_bytes, pack_signs
from thpi.comparison._method import Coded, Search, Training
from thpi.hashers import ITQ
from thpi.index import HammingIndex, Order
from thpi.solvers.moments import principal_axes

_AUTO_BYTES = 32  # its candidates take long for more bits, and gain little


def sign_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of its dimensions, as ``binary_quantize`` of pgvector and sentence-transformers do.

    There is one size, an eighth of a byte a dimension, and nothing is learned.
    """
    if n_bytes(rows.n_dims) > most:
        return None
    return _coded(pack_signs(rows.searched), rows.n_dims, lambda X: np.asarray(X, dtype=np.float64), 0)


def rotation_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of its principal coordinates after a random rotation."""
    n_bits = min(8 * most, rows.most_axes)
    mean = rows.X.mean(axis=0, dtype=np.float64)
    rotation = np.linalg.qr(np.random.RandomState(rows.seed).standard_normal((n_bits, n_bits)))[0]
    projection = principal_axes(rows.X, mean.astype(np.float32), n_bits)[0] @ rotation

    def project(X: Array) -> Floats:
        return np.asarray((X - mean) @ projection)

    return _coded(pack_signs(project(rows.searched)), n_bits, project, 4 * (projection.size + rows.n_dims))


def itq_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of ITQ."""
    return _hashed(ITQ(min(8 * most, rows.most_axes), random_state=rows.seed), rows)


def auto_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of AutoHasher, for nearness in target space."""
    if most > _AUTO_BYTES:
        return None
    try:
        return _hashed(AutoHasher(8 * most, relevance="target", random_state=rows.seed), rows)
    except TooManyBitsError:
        return None


def _hashed(hasher: BaseHasher, rows: Training) -> Coded:
    hasher.fit(rows.X)
    arrays = (value for name, value in vars(hasher).items() if name.endswith("_") and isinstance(value, np.ndarray))

    def project(X: Array) -> Floats:
        return np.asarray(hasher.decision_function(X), dtype=np.float64)

    return _coded(hasher.transform(rows.searched), hasher.n_bits, project, sum(array.nbytes for array in arrays))


def _coded(codes: Codes, n_bits: int, project: Callable[[Array], Floats], shared_bytes: int) -> Coded:
    index = HammingIndex(n_bits)
    index.add(codes)

    def search(order: Order) -> Search:
        return lambda queries, k: np.asarray(index.search(project(queries), k, order=order).ids, dtype=np.int64)

    return Coded(n_bytes(n_bits), shared_bytes, {"Hamming": search("hamming"), "asymmetric": search("asymmetric")})
