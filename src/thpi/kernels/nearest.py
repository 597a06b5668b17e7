"""The nearest rows of packed codes: distances in blocks that stay in cache, and a short list of candidates."""

from __future__ import annotations

import numpy as np

from thpi._types import Array, Distances, Ints
from thpi.kernels._numba import compiled, frozen, popcount

# Rows whose distances are computed at a time; most such blocks have none below the k-th so far and are skipped.
_ROWS = 256
# Least number of queries for which transposing each block of rows first pays off.
_TURN_FROM = 4
# A row that is kept is one number: its distance, and in the lower bits its position.
_SHIFT = 40


def nearest_rows(queries: Array, codes: Array, k: int, n_bits: int) -> tuple[Distances, Ints]:
    """Return the distances and positions of the ``k`` nearest rows of each query, ordered by (distance, position).

    Rows are unsigned words, ``n_bits`` at most 65,534 and ``k`` at most the number of rows. Rows are read in
    the order of their positions, and a row is kept only if it is nearer than the k-th so far, so ties go to the earlier
    row. About ``k log(n / k)`` rows are ever kept; whenever 2k are, all but k are dropped.

    >>> nearest_rows(np.array([[0]], np.uint64), np.array([[3], [1], [2]], np.uint64), 2, 64)
    (array([[1, 1]], dtype=int32), array([[1, 2]]))
    """
    keys = np.empty((len(queries), k), dtype=np.int64)
    _nearest(frozen(queries), frozen(codes), n_bits, keys)
    return (keys >> _SHIFT).astype(np.int32), keys & ((1 << _SHIFT) - 1)


@compiled
def _count(query: Array, rows: Array, turned: Array, is_turned: bool, distances: Array) -> int:
    """Write the distances of one query to a block of rows, and return the least."""
    length, n_words = rows.shape
    least, first = np.uint16(65535), query[0]
    if n_words == 1:
        for j in range(length):
            distances[j] = popcount(first ^ rows[j, 0])
            least = min(least, distances[j])
    elif is_turned:
        distances[:] = 0
        for i in range(n_words - 1):
            for j in range(length):
                distances[j] += popcount(query[i] ^ turned[i, j])
        for j in range(length):
            distances[j] += popcount(query[n_words - 1] ^ turned[n_words - 1, j])
            least = min(least, distances[j])
    elif n_words == 2:
        for j in range(length):
            distances[j] = popcount(first ^ rows[j, 0]) + popcount(query[1] ^ rows[j, 1])
            least = min(least, distances[j])
    elif n_words == 4:
        second, third, fourth = query[1], query[2], query[3]
        for j in range(length):
            ones = popcount(first ^ rows[j, 0]) + popcount(second ^ rows[j, 1])
            distances[j] = ones + popcount(third ^ rows[j, 2]) + popcount(fourth ^ rows[j, 3])
            least = min(least, distances[j])
    return least  # type: ignore[return-value, no-any-return, unused-ignore]


@compiled
def _nearest(queries: Array, codes: Array, n_bits: int, keys: Array) -> None:
    """Write the k least keys of each query, ``2^40 distance + position``, in ascending order."""
    (n, n_words), m, k = queries.shape, codes.shape[0], keys.shape[1]
    kept = np.empty((n, 2 * k + _ROWS), np.int64)
    sizes, limits = np.zeros(n, np.int64), np.full(n, n_bits + 1, np.int64)
    block, turned = np.empty(_ROWS, np.uint16), np.empty((n_words, _ROWS), codes.dtype)
    is_turned = n >= _TURN_FROM or n_words not in (1, 2, 4)
    for start in range(0, m, _ROWS):
        rows = codes[start : start + _ROWS]
        if is_turned and n_words > 1:
            for j in range(len(rows)):
                for i in range(n_words):
                    turned[i, j] = rows[j, i]
        for q in range(n):
            size, limit = sizes[q], limits[q]
            if _count(queries[q], rows, turned, is_turned, block) >= limit:
                continue
            for j in range(len(rows)):
                if block[j] < limit:
                    kept[q, size] = (np.int64(block[j]) << _SHIFT) + start + j
                    size += 1
            if size >= 2 * k or (limit > n_bits and size >= k):
                kept[q, :size] = np.partition(kept[q, :size], k - 1)
                size, limits[q] = k, kept[q, k - 1] >> _SHIFT
            sizes[q] = size
    for q in range(n):
        keys[q] = np.sort(kept[q, : sizes[q]])[:k]
