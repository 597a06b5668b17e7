"""The code of :class:`thpi.ResidualQuantiser`."""

from __future__ import annotations

import numpy as np

from thpi._types import Array, Ints
from thpi.comparison._faiss import write_index
from thpi.comparison._method import Coded, Training
from thpi.quantiser import ResidualQuantiser

_LEAST_ROWS = 256  # as many as centroids
_MOST_BYTES = 64  # longer ones take long to learn, and dimensions coded one by one are as good


def residual_code(rows: Training, most: int) -> Coded | None:
    """Code a row by a sum of centroids and an offset."""
    if most < 2 or most > _MOST_BYTES or len(rows.X) < _LEAST_ROWS:
        return None
    quantiser = ResidualQuantiser(most, random_state=rows.seed).fit(rows.X)
    index = quantiser.index(quantiser.transform(rows.X))

    def search(queries: Array, k: int) -> Ints:
        return np.asarray(index.search(np.ascontiguousarray(queries, dtype=np.float32), k)[1], dtype=np.int64)

    arrays = quantiser.mean_, quantiser.axes_, quantiser.centroids_
    shared = 4 * sum(array.size for array in arrays)
    return Coded(most, shared, {"asymmetric": search}, lambda path: write_index(index, path), ".faiss")
