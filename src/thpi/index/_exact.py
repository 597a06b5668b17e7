"""Exact Hamming search over an array of codes: faiss's flat kernels, without copying the codes into an index.

Ties in distance are ordered by position. faiss's counting kernel ("mc", what ``IndexBinaryFlat`` runs with
``use_heap=False``) keeps for each distance the first positions it meets, in the order it meets them, so this holds
by construction and at the k-th place too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi.codes import Codes, hamming_distances

__all__ = ["nearest", "within"]

Ints = npt.NDArray[np.int64]
Distances = npt.NDArray[np.int32]

# The counting kernel keeps k positions for each possible distance and query.
_COUNTER_BYTES = 2**28


def nearest(queries: Codes, codes: Codes, k: int) -> tuple[Distances, Ints]:
    """Distances and positions of the ``k`` nearest codes of each query, ordered by (distance, position).

    >>> nearest(np.array([[0]], np.uint8), np.array([[3], [1], [2]], np.uint8), 2)
    (array([[1, 1]], dtype=int32), array([[1, 2]]))
    """
    k = min(k, len(codes))
    distances = np.empty((len(queries), k), dtype=np.int32)
    positions = np.empty((len(queries), k), dtype=np.int64)
    if not k or not len(queries):
        return distances, positions
    per_query = (8 * codes.shape[1] + 1) * k * 8
    if per_query > _COUNTER_BYTES:
        return _sorted_nearest(queries, codes, k)
    import faiss

    block = max(1, _COUNTER_BYTES // per_query)
    for start in range(0, len(queries), block):
        rows = slice(start, start + block)
        distances[rows], positions[rows] = faiss.knn_hamming(queries[rows], codes, k, variant="mc")
    return distances, positions


def _sorted_nearest(queries: Codes, codes: Codes, k: int) -> tuple[Distances, Ints]:
    """Sort all distances; for a ``k`` so large that counters would need too much memory."""
    distances = np.empty((len(queries), k), dtype=np.int32)
    positions = np.empty((len(queries), k), dtype=np.int64)
    for i in range(len(queries)):
        all_distances: npt.NDArray[Any] = hamming_distances(queries[i : i + 1], codes)[0]
        if 8 * codes.shape[1] < 2**16:  # stable sorting of 16-bit numbers is radix sort in numpy
            all_distances = all_distances.astype(np.uint16)
        positions[i] = np.argsort(all_distances, kind="stable")[:k]
        distances[i] = all_distances[positions[i]]
    return distances, positions


def within(queries: Codes, codes: Codes, radius: int) -> list[tuple[Distances, Ints]]:
    """Distances and positions of all codes at distance <= ``radius``, ordered by (distance, position).

    >>> within(np.array([[0]], np.uint8), np.array([[3], [1], [2]], np.uint8), 1)
    [(array([1, 1], dtype=int32), array([1, 2]))]
    """
    if not len(codes) or not len(queries):
        return [(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)) for _ in range(len(queries))]
    from importlib import import_module

    faiss: Any = import_module("faiss")  # its type hints leave out some of its functions
    result = faiss.RangeSearchResult(len(queries))
    # faiss's radius is exclusive.
    radius = min(radius, 8 * codes.shape[1]) + 1
    pointers = (faiss.swig_ptr(queries), faiss.swig_ptr(codes))
    faiss.hamming_range_search(*pointers, len(queries), len(codes), radius, codes.shape[1], result)
    limits = faiss.rev_swig_ptr(result.lims, len(queries) + 1).astype(np.int64)
    total = int(limits[-1])
    labels: Any = faiss.rev_swig_ptr(result.labels, total).copy() if total else np.empty(0, dtype=np.int64)
    found: Any = faiss.rev_swig_ptr(result.distances, total).astype(np.int32) if total else np.empty(0, dtype=np.int32)
    answers = []
    for start, stop in pairwise(limits):
        order = np.lexsort((labels[start:stop], found[start:stop]))
        answers.append((found[start:stop][order], labels[start:stop][order]))
    return answers
