"""The nearest rows of packed codes: distances in blocks that stay in cache, and a list of what may still count."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from thpi.kernels.popcount import popcount

__all__ = ["nearest_rows"]

# Rows whose distances are formed at a time; most such blocks have none below the k-th so far and are done with.
_ROWS = 256
# From so many queries on it pays to turn each block of rows around first, word by word.
_TURN_FROM = 4


def nearest_rows(
    queries: npt.NDArray[Any], codes: npt.NDArray[Any], k: int, n_bits: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Distances and positions of the ``k`` nearest rows of each query, ordered by (distance, position).

    Rows are unsigned words, ``n_bits`` at most 65,534 and ``k`` at most the number of rows. Rows come in the order of
    their positions and only one that is nearer than the k-th so far is kept, so ties go to the earlier row. About
    ``k log(n / k)`` rows are ever kept; when 2k are, a counting sort drops all but k.

    >>> nearest_rows(np.array([[0]], np.uint64), np.array([[3], [1], [2]], np.uint64), 2, 64)
    (array([[1, 1]], dtype=int32), array([[1, 2]]))
    """
    distances = np.empty((len(queries), k), dtype=np.int32)
    positions = np.empty((len(queries), k), dtype=np.int64)
    _nearest(_frozen(queries), _frozen(codes), n_bits, distances, positions)
    return distances, positions


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give a read-only view, so that the kernel is compiled once and not for each kind of access."""
    view = array.view()
    view.flags.writeable = False
    return view


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _block_distances(query: Any, rows: Any, turned: Any, is_turned: bool, distances: Any) -> Any:
    """Write the distances of one query to a block of rows, and give the least."""
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
            word = query[i]
            words = turned[i, :length]
            for j in range(length):
                distances[j] += popcount(word ^ words[j])
        word = query[n_words - 1]
        words = turned[n_words - 1, :length]
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
    return least


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _keep_nearest(
    kept_distances: Any, kept_positions: Any, size: int, counts: Any, distances: Any, positions: Any
) -> int:
    """Sort what is kept by distance, stably, and drop all but the first k; ``distances`` has room for k."""
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


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _nearest(queries: Any, codes: Any, n_bits: int, distances: Any, positions: Any) -> None:
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
