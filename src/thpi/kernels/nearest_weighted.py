"""The rows of packed codes nearest to queries whose bits have weights: counts of bits rule out all but a few rows.

The distance is the sum of the weights of the bits that differ. For a query each weight is rounded to c steps, c from 0
to 7. The bits of c are three masks, so three counts of the bits that differ give the distance in steps. It exceeds the
true one by the weights that were rounded up, at most: rows beyond that are ruled out, the others are summed exactly.
"""

from __future__ import annotations

import numpy as np

from thpi._types import Array, Floats, Ints
from thpi.kernels._numba import compiled, frozen, popcount

# Rows whose steps are counted at a time, and rows of them that are looked through if one may be near.
_ROWS, _FEW = 256, 32
# The counts and the sums are rounded differently.
_SLACK = 1 + 1e-9


def nearest_weighted(
    own: Array, masks: Array, steps: Floats, excess: Floats, tables: Floats, codes: Array, words: Array, k: int
) -> tuple[Floats, Ints]:
    """Return the distances and positions of the ``k`` nearest rows of each query, ordered by (distance, position).

    Of n queries, ``own`` has the codes (n x bytes), ``masks`` the bits that count 1, 2 and 4 steps (n x 3 x words),
    ``steps`` what a step is worth, ``excess`` the sum of what was rounded up, and ``tables`` the sum of the weights
    for each value of each byte of differences (n x bytes x 256). ``words`` are the bytes of ``codes`` as unsigned
    words. ``k`` is at most the number of rows, and seven times the number of bits is below 2^16. Rows are read in the
    order of their positions, and a row is kept only if it is nearer than the k-th so far, so ties go to the earlier
    row.

    >>> own, codes = np.array([[0]], np.uint8), np.array([[3], [1], [2]], np.uint8)
    >>> masks, tables = np.array([[[1], [2], [0]]], np.uint8), np.array([[[0.0, 1.5, 2.5, 4.0]]])
    >>> nearest_weighted(own, masks, np.array([1.0]), np.array([0.0]), tables, codes, codes, 2)
    (array([[1.5, 2.5]]), array([[1, 2]]))
    """
    distances = np.empty((len(own), k), dtype=np.float64)
    positions = np.empty((len(own), k), dtype=np.int64)
    queries, weights = (frozen(own), frozen(own.view(words.dtype))), (frozen(masks), frozen(steps), frozen(excess))
    _nearest(*queries, *weights, frozen(tables), frozen(codes), frozen(words), distances, positions)
    return distances, positions


@compiled
def _count(query: Array, masks: Array, words: Array, counts: Array) -> None:
    """Write the distance of one query to each row of a block (words x rows), in steps."""
    counts[:] = 0
    for i in range(len(query)):
        word, once, twice, four = query[i], masks[0, i], masks[1, i], masks[2, i]
        row = words[i, : len(counts)]
        for j in range(len(counts)):
            differs = word ^ row[j]
            ones = popcount(differs & once) + (popcount(differs & twice) << np.uint64(1))
            counts[j] += ones + (popcount(differs & four) << np.uint64(2))


@compiled
def _least(counts: Array) -> int:
    least = np.uint16(65535)
    for j in range(len(counts)):
        least = min(least, counts[j])
    return least  # type: ignore[return-value, no-any-return, unused-ignore]


@compiled
def _keep_nearest(kept_distances: Array, kept_positions: Array, size: int, k: int) -> int:
    """Sort the kept rows by distance, stably, and drop all but the first k."""
    order = np.argsort(kept_distances[:size], kind="mergesort")[:k]
    kept_distances[: len(order)] = kept_distances[order]
    kept_positions[: len(order)] = kept_positions[order]
    return len(order)


@compiled
def _nearest(
    own: Array, queries: Array, masks: Array, steps: Array, excess: Array, tables: Array, codes: Array, words: Array,
    distances: Array, positions: Array,
) -> None:  # fmt: skip
    (n, width), (m, n_words), k = own.shape, words.shape, distances.shape[1]
    kept_distances = np.empty((n, 2 * k + _ROWS), np.float64)
    kept_positions = np.empty((n, 2 * k + _ROWS), np.int64)
    sizes = np.zeros(n, np.int64)
    limits, cuts = np.full(n, np.inf), np.full(n, 65535, np.int64)
    room, turned = np.empty(_ROWS, np.uint16), np.empty((n_words, _ROWS), words.dtype)
    for start in range(0, m, _ROWS):
        rows = words[start : start + _ROWS]
        counts = room[: len(rows)]
        if n_words > 1:
            for j in range(len(rows)):
                for i in range(n_words):
                    turned[i, j] = rows[j, i]
        for q in range(n):
            if n_words > 1:
                _count(queries[q], masks[q], turned, counts)
            else:
                _count(queries[q], masks[q], rows.reshape(1, len(rows)), counts)
            cut = cuts[q]
            if _least(counts) > cut:
                continue
            size, limit = sizes[q], limits[q]
            for begin in range(0, len(rows), _FEW):
                few = counts[begin : begin + _FEW]
                if _least(few) > cut:
                    continue
                for j in range(len(few)):
                    if few[j] > cut:
                        continue
                    row, distance = start + begin + j, 0.0
                    for byte in range(width):
                        distance += tables[q, byte, own[q, byte] ^ codes[row, byte]]
                    if distance < limit:
                        kept_distances[q, size], kept_positions[q, size] = distance, row
                        size += 1
            if size >= 2 * k or (limit == np.inf and size >= k):
                size = _keep_nearest(kept_distances[q], kept_positions[q], size, k)
                limits[q] = kept_distances[q, k - 1]
                cuts[q] = np.int64(min((limits[q] + excess[q]) / steps[q] * _SLACK, 65535.0))
            sizes[q] = size
    for q in range(n):
        _keep_nearest(kept_distances[q], kept_positions[q], sizes[q], k)
        distances[q], positions[q] = kept_distances[q, :k], kept_positions[q, :k]
