"""Binary codes: signs of the dimensions, of rotated principal axes, of ITQ and of AutoHasher; both orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thpi._types import Array, Floats, Ints, PathLike
from thpi.auto import AutoHasher
from thpi.base import BaseHasher, TooManyBitsError
from thpi.codes import n_bytes, pack_signs
from thpi.comparison._faiss import write_index
from thpi.comparison._method import Coded, Search, Training
from thpi.hashers import ITQ
from thpi.index import HammingIndex, Order

_AUTO_BYTES = 32  # its candidates take long for more bits, and gain little


def sign_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of its dimensions, as ``binary_quantize`` of pgvector and sentence-transformers do.

    There is one size, an eighth of a byte a dimension, and nothing is learned.
    """
    d = rows.n_dims
    if n_bytes(d) > most:
        return None
    return _linear(rows, np.eye(d), np.zeros(d), shared_bytes=0)


def rotation_code(rows: Training, most: int) -> Coded | None:
    """Code a row by the signs of its principal coordinates after a random rotation."""
    n_bits = min(8 * most, rows.most_axes)
    projection = rows.axes[:, :n_bits] @ rows.rotation(n_bits)
    return _linear(rows, projection, rows.mean, 4 * (projection.size + rows.n_dims))


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
    return _coded(
        hasher.transform(rows.X),
        hasher.n_bits,
        rows.seed,
        lambda X: np.asarray(hasher.decision_function(X), dtype=np.float64),
        shared_bytes=sum(array.nbytes for array in arrays),
        write=lambda path: hasher.save(path),
        suffix=".thpi",
    )


def _linear(rows: Training, projection: Floats, mean: Floats, shared_bytes: int) -> Coded:
    def project(X: Array) -> Floats:
        return np.asarray((X - mean) @ projection)

    def write(path: PathLike) -> None:
        import faiss

        d, n_bits = projection.shape
        step = faiss.LinearTransform(d, n_bits, True)
        faiss.copy_array_to_vector(np.float32(projection.T).ravel(), step.A)
        faiss.copy_array_to_vector(np.float32(-mean @ projection), step.b)
        step.is_trained = True
        index = faiss.IndexPreTransform(step, faiss.IndexLSH(n_bits, n_bits, False, False))
        index.add(rows.X)
        write_index(index, path)

    codes = pack_signs(project(rows.X))
    return _coded(codes, projection.shape[1], rows.seed, project, shared_bytes, write, ".faiss")


def _coded(
    codes: Array,
    n_bits: int,
    seed: int,
    project: Callable[[Array], Floats],
    shared_bytes: int,
    write: Callable[[PathLike], None],
    suffix: str,
) -> Coded:
    def search(index: HammingIndex, order: Order) -> Search:
        def positions(queries: Array, k: int) -> Ints:
            return np.asarray(index.search(project(queries), k, order=order).ids, dtype=np.int64)

        return positions

    def approximate(recall: float) -> Search:
        tuned = HammingIndex(n_bits, recall, random_state=seed)
        tuned.add(codes)
        tuned.tune(10)
        return search(tuned, "asymmetric")

    index = HammingIndex(n_bits)
    index.add(codes)
    searches = {"Hamming": search(index, "hamming"), "asymmetric": search(index, "asymmetric")}
    return Coded(n_bytes(n_bits), shared_bytes, searches, write, suffix, approximate)
