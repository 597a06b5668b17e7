"""The nearest rows of packed codes: distances in blocks that stay in cache, and a short list of candidates."""

from __future__ import annotations

import numpy as np

from thpi._types import Array, Distances, Ints
from thpi.kernels._numba import compiled, frozen, popcount

# Rows whose distances are computed at a time; most such blocks have none below the k-th so far and are skipped.
_ROWS = 256
# Least number of queries for which transposing each block of rows first pays off.
_TURN_FROM = 4


def nearest_rows(queries: Array, codes: Array, k: int, n_bits: int) -> tuple[Distances, Ints]:
    """Return the distances and positions of the ``k`` nearest rows of each query, ordered by (distance, position).

    Rows are unsigned words, ``n_bits`` at most 65,534 and ``k`` at most the number of rows. Rows are read in
    the order of their positions, and a row is kept only if it is nearer than the k-th so far, so ties go to the earlier
    row. About ``k log(n / k)`` rows are ever kept; whenever 2k are, a counting sort drops all but k.

    >>> nearest_rows(np.array([[0]], np.uint64), np.array([[3], [1], [2]], np.uint64), 2, 64)
    (array([[1, 1]], dtype=int32), array([[1, 2]]))
    """
    distances = np.empty((len(queries), k), dtype=np.int32)
    positions = np.empty((len(queries), k), dtype=np.int64)
    _nearest(frozen(queries), frozen(codes), n_bits, distances, positions)
    return distances, positions


@compiled
def _block_distances(query: Array, rows: Array, turned: Array, is_turned: bool, distances: Array) -> int:
    """Write the distances of one query to a block of rows, and return the least."""
    length, n_words = rows.shape
    least = np.uint16(65535)
    first = query[0]
    if n_words == 1:
        for j in range(length):
            distances[j] = popcount(first ^ rows[j, 0])
            least = min(least, distances[j])
    elif is_turned:
        words = turned[0, :length]
        for j in range(length):
            distances[j] = popcount(first ^ words[j])
        for i in range(1, n_words - 1):
            word, words = query[i], turned[i, :length]
            for j in range(length):
                distances[j] += popcount(word ^ words[j])
        word, words = query[n_words - 1], turned[n_words - 1, :length]
        for j in range(length):
            distances[j] += popcount(word ^ words[j])
            least = min(least, distances[j])
    elif n_words == 2:
        second = query[1]
        for j in range(length):
            distances[j] = popcount(first ^ rows[j, 0]) + popcount(second ^ rows[j, 1])
            least = min(least, distances[j])
    elif n_words == 4:
        second, third, fourth = query[1], query[2], query[3]
        for j in range(length):
            ones = popcount(first ^ rows[j, 0]) + popcount(second ^ rows[j, 1])
            distances[j] = ones + popcount(third ^ rows[j, 2]) + popcount(fourth ^ rows[j, 3])
            least = min(least, distances[j])
    else:
        for j in range(length):
            ones = np.uint64(0)
            for i in range(n_words):
                ones += popcount(query[i] ^ rows[j, i])
            distances[j] = ones
            least = min(least, distances[j])
    return least  # type: ignore[return-value, no-any-return, unused-ignore]


@compiled
def _keep_nearest(
    kept_distances: Array, kept_positions: Array, size: int, counts: Array, distances: Array, positions: Array
) -> int:
    """Sort the kept rows by distance, stably, and drop all but the first k; ``distances`` has room for k."""
    k = len(distances)
    counts[:] = 0
    for i in range(size):
        counts[kept_distances[i]] += 1
    before = 0
    for distance in range(len(counts)):
        here = counts[distance]
        counts[distance] = before
        before += here
    for i in range(size):
        place = counts[kept_distances[i]]
        counts[kept_distances[i]] += 1
        if place < k:
            distances[place] = kept_distances[i]
            positions[place] = kept_positions[i]
    size = min(size, k)
    kept_distances[:size] = distances[:size]
    kept_positions[:size] = positions[:size]
    return size


@compiled
def _nearest(queries: Array, codes: Array, n_bits: int, distances: Array, positions: Array) -> None:
    n, n_words = queries.shape
    m = codes.shape[0]
    k = distances.shape[1]
    kept_distances = np.empty((n, 2 * k + _ROWS), np.int32)
    kept_positions = np.empty((n, 2 * k + _ROWS), np.int64)
    sizes = np.zeros(n, np.int64)
    limits = np.full(n, n_bits + 1, np.int64)
    counts = np.empty(n_bits + 1, np.int64)
    block = np.empty(_ROWS, np.uint16)
    turned = np.empty((n_words, _ROWS), codes.dtype)
    is_turned = n_words > 1 and n >= _TURN_FROM
    for start in range(0, m, _ROWS):
        rows = codes[start : start + _ROWS]
        if is_turned:
            for j in range(len(rows)):
                for i in range(n_words):
                    turned[i, j] = rows[j, i]
        for q in range(n):
            limit = limits[q]
            if _block_distances(queries[q], rows, turned, is_turned, block) >= limit:
                continue
            size = sizes[q]
            for j in range(len(rows)):
                if block[j] < limit:
                    kept_distances[q, size] = block[j]
                    kept_positions[q, size] = start + j
                    size += 1
            if size >= 2 * k or (limit > n_bits and size >= k):
                size = _keep_nearest(kept_distances[q], kept_positions[q], size, counts, distances[q], positions[q])
                limits[q] = kept_distances[q, k - 1]
            sizes[q] = size
    for q in range(n):
        _keep_nearest(kept_distances[q], kept_positions[q], sizes[q], counts, distances[q], positions[q])
