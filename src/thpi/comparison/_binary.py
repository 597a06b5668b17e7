"""Binary codes: signs of the dimensions, of rotated principal axes, of ITQ and of AutoHasher; both orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thpi._types import Array, Codes, Floats, Ints
from thpi.auto import AutoHasher
from thpi.base import BaseHasher, TooManyBitsError
from thpi.codes import n_bytes, pack_signs
from thpi.comparison._method import Coded, Search, Training
from thpi.hashers import ITQ
from thpi.index import HammingIndex, Order

_AUTO_BYTES = 32  # its candidates take long for more bits, and gain little


def sign_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of its dimensions, as ``binary_quantize`` of pgvector and sentence-transformers do.

    There is one size, an eighth of a byte a dimension, and nothing is learned.
    """
    if n_bytes(rows.n_dims) > most:
        return None
    return _coded(pack_signs(rows.searched), rows.n_dims, rows.seed, lambda X: np.asarray(X, dtype=np.float64), 0)


def rotation_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of its principal coordinates after a random rotation."""
    n_bits = min(8 * most, rows.most_axes)
    projection = rows.axes[:, :n_bits] @ rows.rotation(n_bits)

    def project(X: Array) -> Floats:
        return np.asarray((X - rows.mean) @ projection)

    return _coded(pack_signs(project(rows.searched)), n_bits, rows.seed, project, 4 * (projection.size + rows.n_dims))


def itq_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of ITQ."""
    return _hashed(ITQ(min(8 * most, rows.most_axes), random_state=rows.seed), rows)


def auto_code(relevance: str) -> Callable[[Training, int], Coded | None]:
    """Return the code of AutoHasher for a meaning of "relevant"; with labels or source if they belong to it."""

    def code(rows: Training, most: int) -> Coded | None:
        if most > _AUTO_BYTES:
            return None
        hasher = AutoHasher(8 * most, relevance=relevance, random_state=rows.seed)
        given = {"labels": {"y": rows.labels}, "source": {"privileged": rows.privileged}}.get(relevance, {})
        try:
            return _hashed(hasher, rows, **given)
        except TooManyBitsError:
            return None

    return code


def _hashed(hasher: BaseHasher, rows: Training, **given: Any) -> Coded:
    hasher.fit(rows.X, **given)
    arrays = (value for name, value in vars(hasher).items() if name.endswith("_") and isinstance(value, np.ndarray))

    def project(X: Array) -> Floats:
        return np.asarray(hasher.decision_function(X), dtype=np.float64)

    shared = sum(array.nbytes for array in arrays)
    return _coded(hasher.transform(rows.searched), hasher.n_bits, rows.seed, project, shared)


def _coded(codes: Codes, n_bits: int, seed: int, project: Callable[[Array], Floats], shared_bytes: int) -> Coded:
    def search(index: HammingIndex, order: Order) -> Search:
        return lambda queries, k: _positions(index.search(project(queries), k, order=order).ids)

    def approximate(recall: float) -> Search:
        tuned = HammingIndex(n_bits, recall, random_state=seed)
        tuned.add(codes)
        tuned.tune(10)
        return search(tuned, "asymmetric")

    index = HammingIndex(n_bits)
    index.add(codes)
    searches = {"Hamming": search(index, "hamming"), "asymmetric": search(index, "asymmetric")}
    return Coded(n_bytes(n_bits), shared_bytes, searches, approximate)


def _positions(ids: Any) -> Ints:
    return np.asarray(ids, dtype=np.int64)
