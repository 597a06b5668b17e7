"""Scans of packed codes, in blocks that stay in cache: the nearest rows, and how many rows are at each distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from thpi._types import Array, Bools, Distances, Floats, Ints, Words

Kernel = TypeVar("Kernel", bound=Callable[..., object])

# Rows whose distances are computed at a time; most such blocks have none below the k-th so far and are skipped.
_ROWS = 256
# Rows of them that are looked through if one may be near.
_FEW = 32
# The counts of steps and the sums of weights are rounded differently.
_SLACK = 1 + 1e-9
# Least number of queries for which transposing each block of rows first pays off.
_TURN_FROM = 4
# Rows counted at a time: their keys, 2 bytes each, and their words stay in the cache next to the core.
_COUNTED = 4096
# A row that is kept is one number: its distance, and in the lower bits its position.
_SHIFT = 40


def compiled(function: Kernel) -> Kernel:
    """Compile a function at its first call, to run without the interpreter's lock, and keep it on disk."""
    return cast(Kernel, njit(cache=True, nogil=True)(function))


def frozen(array: Array) -> Array:
    """Return a contiguous read-only view, so that a kernel is compiled once and not for each kind of array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@compiled
def popcount(word: Any) -> Any:
    """Count the ones of an unsigned word; LLVM knows these steps, and takes the one instruction for them."""
    u = np.uint64
    twos, fours = u(0x3333333333333333), u(0x0F0F0F0F0F0F0F0F)
    x = u(word) - ((u(word) >> u(1)) & u(0x5555555555555555))
    x = (x & twos) + ((x >> u(2)) & twos)
    return (((x + (x >> u(4))) & fours) * u(0x0101010101010101)) >> u(56)


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


def nearest_weighted(
    own: Array, masks: Array, steps: Floats, excess: Floats, tables: Floats, codes: Array, words: Array, k: int
) -> tuple[Floats, Ints]:
    """Return the distances and positions of the ``k`` nearest rows where each bit of a query has a weight of its own.

    The distance is the sum of the weights of the bits that differ. For a query each weight is rounded to c steps, from
    0 to 7. The bits of c are three masks, so three counts of the bits that differ give the distance in steps. It
    exceeds the true one by the weights that were rounded up, at most: rows beyond that are ruled out, the others are
    summed exactly.

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
    _nearest_weighted(*queries, *weights, frozen(tables), frozen(codes), frozen(words), distances, positions)
    return distances, positions


@compiled
def _count_steps(query: Array, masks: Array, words: Array, counts: Array) -> None:
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
def _nearest_weighted(
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
                _count_steps(queries[q], masks[q], turned, counts)
            else:
                _count_steps(queries[q], masks[q], rows.reshape(1, len(rows)), counts)
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


def count_words(queries: Words, database: Words, relevant: Bools, n_bits: int) -> Ints:
    """Count rows by distance, shape ``(n_queries, 2, n_bits + 1)``: not relevant, then relevant; ``n_bits`` < 2^15.

    ``queries`` is n x words and ``database`` words x m. Its twin in ``thpi.evaluation`` is ``count_by_distance``.

    >>> words = np.array([[0, 1, 2]], dtype=np.uint64)
    >>> count_words(words[:, :1], words, np.array([[True, False, True]]), n_bits=2)
    array([[[0, 1, 0],
            [1, 1, 0]]])
    """
    counts = np.zeros((len(queries), 2 * (n_bits + 1)), dtype=np.int64)
    _count_by_distance(frozen(queries), frozen(database), frozen(relevant), counts)
    return counts.reshape(len(queries), 2, n_bits + 1)


@compiled
def _count_by_distance(queries: Array, database: Array, relevant: Array, counts: Array) -> None:
    (n, n_words), m, n_keys = queries.shape, database.shape[1], counts.shape[1]
    keys_room = np.empty(_COUNTED, np.uint16)
    # Each query has eight histograms, used in turn: neighbouring rows often have the same distance, and an increment
    # would wait for the previous one to reach memory.
    histograms = np.zeros((n, 8, n_keys), np.uint32)
    one, shift = np.uint32(1), np.uint16(n_keys // 2)
    for start in range(0, m, _COUNTED):
        length = min(_COUNTED, m - start)
        keys = keys_room[:length]
        for q in range(n):
            row = relevant[q, start : start + length]
            for j in range(length):
                keys[j] = shift * row[j]
            for i in range(n_words):
                words = database[i, start : start + length]
                word = queries[q, i]
                for j in range(length):
                    keys[j] += popcount(word ^ words[j])
            for j in range(length):
                histograms[q, j % 8, keys[j]] += one
    for q in range(n):
        for i in range(8):
            counts[q] += histograms[q, i]
