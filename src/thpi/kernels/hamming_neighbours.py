"""Exact nearest codes under the Hamming distance by multi-index hashing (Norouzi, Punjani and Fleet 2014), compiled.

A code is cut into m pieces. A code at distance m s + t or less from the query differs from it in at most s bits in one
of the first t + 1 pieces, or in at most s - 1 bits in one of the others. So each look-up of pieces in the order (s, t),
a ring, extends the distance searched by one. If the rings would cost more than a scan of all codes, these are scanned.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from thpi._types import Array
from thpi.kernels._numba import compiled, popcount

# Codes of one tile of the scan (they and their distances stay in the first-level cache), and queries that share it.
_TILE, _TOGETHER = 512, 8
# Codes that are scanned in the time of one look-up, or of one code found by it.
_SCANNED_IN_ONE_LOOK_UP = 8.0
# Longest piece: its table has 2^16 entries.
_LONGEST_PIECE = 16


class _Tables(NamedTuple):
    words: Array  # the codes, n x w
    size: Array  # rows that share each code
    lengths: Array  # of the m pieces in bits; longer pieces first, so that the first one bounds the rings
    pieces: Array  # the bits of each piece, m x w
    keys: Array  # each piece of each code as a number, m x n
    starts: Array  # limits of the codes with each key in members, m x (number of keys + 1)
    members: Array  # the codes in the order of their keys, m x n
    near: Array  # a copy of the codes in this order: those with the same piece are contiguous
    masks: Array  # all keys, ordered by their number of ones
    shells: Array  # limits of the masks with each number of ones
    cost: Array  # expected cost of the first rings


class _List(NamedTuple):
    """The codes found for one query, as arrays of which the first ``length`` entries are used."""

    state: Array  # length of the list, rows within the bound, and the bound
    histogram: Array  # rows at each distance
    found: Array
    far: Array


class MultiIndex:
    """Distinct codes (n x w words), each shared by ``size`` rows, with a table for each piece of their bits.

    >>> index = MultiIndex(np.array([[0b000], [0b001], [0b111]], np.uint64), np.array([1, 1, 1]), 3)
    >>> n_done, radius, limits, found, far = index.nearest(np.array([0]), wanted=2, capacity=10)
    >>> radius, sorted(found.tolist())
    (array([1]), [0, 1])
    """

    def __init__(self, words: Array, size: Array, n_bits: int) -> None:
        words, n = np.ascontiguousarray(words, dtype=np.uint64), len(words)
        longest = min(_LONGEST_PIECE, max(4, n.bit_length()), n_bits)
        lengths = np.sort(np.diff(np.linspace(0, n_bits, -(-n_bits // longest) + 1).astype(np.int64)))[::-1].copy()
        edges = np.concatenate([[0], np.cumsum(lengths)])
        m, top = len(lengths), 1 << int(lengths[0])
        pieces = np.zeros((m, words.shape[1]), dtype=np.uint64)
        keys, members = np.empty((m, n), dtype=np.uint32), np.empty((m, n), dtype=np.int32)
        starts = np.zeros((m, top + 1), dtype=np.int32)
        for t in range(m):
            for bit in range(edges[t], edges[t + 1]):
                pieces[t, bit // 64] |= np.uint64(1 << (bit % 64))
            keys[t] = _piece(words, int(edges[t]), int(lengths[t]))
            np.cumsum(np.bincount(keys[t], minlength=top), out=starts[t, 1:])
            members[t] = np.argsort(keys[t].astype(np.uint16), kind="stable")
        ones = np.array([value.bit_count() for value in range(top)])
        masks = np.argsort(ones, kind="stable").astype(np.uint32)
        shells = np.concatenate([[0], np.cumsum(np.bincount(ones))])
        bits = lengths.tolist()
        rings = [comb(length, s) * (1 + n / 2.0**length) for s in range(bits[0] + 1) for length in bits]
        cost = np.concatenate([[0], np.cumsum(rings)])
        self.tables = _Tables(
            words, size.astype(np.int64), lengths, pieces, keys, starts, members, words[members], masks, shells, cost
        )

    def nearest(self, queries: Array, wanted: int, capacity: int) -> tuple[int, Array, Array, Array, Array]:
        """Find, for each query (the number of a code), all codes within the least distance that holds ``wanted`` rows.

        Returns the number of queries done, the distance of each, the limits of their lists, and the lists: codes and
        their distances, in any order. The first query is always done; a later one whose list does not fit into
        ``capacity`` ends the run.
        """
        return _nearest(self.tables, queries, wanted, len(self.tables.words) / _SCANNED_IN_ONE_LOOK_UP, capacity)


def _piece(words: Array, begin: int, length: int) -> Array:
    """Return the bits ``begin`` to ``begin + length`` of each code as a number."""
    word, shift = divmod(begin, 64)
    value = words[:, word] >> np.uint64(shift)
    if shift + length > 64:
        value = value | (words[:, word + 1] << np.uint64(64 - shift))
    return (value & np.uint64((1 << length) - 1)).astype(np.uint32)


@compiled
def _distance(one: Array, other: Array) -> int:
    total = np.uint64(0)
    for w in range(len(one)):
        total += popcount(one[w] ^ other[w])
    return np.int64(total)  # type: ignore[return-value]


@compiled
def _keep(
    code: int, distance: int, rows: int, wanted: int, state: Array, histogram: Array, found: Array, far: Array
) -> None:
    """Append a code to the list, and lower the bound if fewer rows suffice."""
    found[state[0]] = code
    far[state[0]] = distance
    state[0] += 1
    histogram[distance] += rows
    state[1] += rows
    while state[1] - histogram[state[2]] >= wanted:
        state[1] -= histogram[state[2]]
        state[2] -= 1


@compiled
def _look_up(tables: _Tables, query: int, wanted: int, budget: float, usual: float, kept: _List) -> bool:
    """Go through the rings; return whether they sufficed."""
    lengths, starts, near, pieces, cost = tables.lengths, tables.starts, tables.near, tables.pieces, tables.cost
    state, histogram, found, far = kept
    n_pieces, n_words = pieces.shape
    code = tables.words[query]
    work = 0
    for ring in range(len(cost) - 1):
        s, t = ring // n_pieces, ring % n_pieces
        # Rings are needed up to the final bound: at most the present one, and likely the usual one.
        target = max(ring, min(state[2], np.int64(usual))) if state[1] >= wanted else ring
        if work > budget or cost[min(target + 1, len(cost) - 1)] - cost[ring] > budget:
            return False
        for place in range(tables.shells[s], tables.shells[s + 1]):
            mask = tables.masks[place]
            if mask >> lengths[t]:
                break
            value = tables.keys[t, query] ^ mask
            begin, end = starts[t, value], starts[t, value + 1]
            work += 1 + end - begin
            for position in range(begin, end):
                distance = _distance(code, near[t, position])
                if distance > state[2]:
                    continue
                new = True  # a code counts in the ring that finds it first
                for other in range(n_pieces):
                    if other != t:
                        part = np.uint64(0)
                        for w in range(n_words):
                            part += popcount((code[w] ^ near[t, position, w]) & pieces[other, w])
                        if np.int64(part) < s or (np.int64(part) == s and other < t):
                            new = False
                            break
                if new:
                    candidate = tables.members[t, position]
                    _keep(candidate, distance, tables.size[candidate], wanted, state, histogram, found, far)
        if state[1] >= wanted and state[2] <= ring:
            return True
    return bool(state[1] >= wanted)


@compiled
def _scan_tile(tables: _Tables, begin: int, end: int, query: int, wanted: int, distances: Array, kept: _List) -> None:
    """Go through one tile of codes for one query."""
    state, histogram, found, far = kept
    words = tables.words
    code = words[query]
    least = np.uint16(65535)
    if len(code) == 1:
        # Known to be contiguous, so that the compiler counts several words at once.
        first, tile = code[0], words.reshape(-1)[begin:end]
        for j in range(len(tile)):
            distances[j] = popcount(first ^ tile[j])
            least = min(least, distances[j])
    else:
        for j in range(end - begin):
            distances[j] = _distance(code, words[begin + j])
            least = min(least, distances[j])
    # Most tiles hold nothing near.
    if least > state[2]:
        return
    for j in range(end - begin):
        if distances[j] <= state[2]:
            _keep(begin + j, distances[j], tables.size[begin + j], wanted, state, histogram, found, far)


@compiled
def _nearest(
    tables: _Tables, queries: Array, wanted: int, budget: float, capacity: int
) -> tuple[int, Array, Array, Array, Array]:
    n, n_words = tables.words.shape
    farthest = 64 * n_words
    n_queries = len(queries)
    radius, limits = np.zeros(n_queries, dtype=np.int64), np.zeros(n_queries + 1, dtype=np.int64)
    found, far = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.int16)
    state, histogram = np.empty((_TOGETHER, 3), np.int64), np.empty((_TOGETHER, farthest + 1), np.int64)
    group_found, group_far = np.empty((_TOGETHER, n), np.int32), np.empty((_TOGETHER, n), np.int16)
    to_scan = np.zeros(_TOGETHER, dtype=np.bool_)
    usual = 0.0  # mean radius of the last queries, which decides between look-ups and a scan
    distances = np.empty(_TILE, dtype=np.uint16)

    for first in range(0, n_queries, _TOGETHER):
        n_slots = min(_TOGETHER, n_queries - first)
        for slot in range(n_slots):
            kept = _List(state[slot], histogram[slot], group_found[slot], group_far[slot])
            kept.histogram[:] = 0
            kept.state[0], kept.state[1], kept.state[2] = 0, 0, farthest
            to_scan[slot] = not _look_up(tables, queries[first + slot], wanted, budget, usual, kept)
            if to_scan[slot]:
                # The bound found so far holds; the list begins anew.
                kept.histogram[:] = 0
                kept.state[0], kept.state[1] = 0, 0
        if to_scan[:n_slots].any():
            for begin in range(0, n, _TILE):
                for slot in range(n_slots):
                    if to_scan[slot]:
                        kept = _List(state[slot], histogram[slot], group_found[slot], group_far[slot])
                        end = min(begin + _TILE, n)
                        _scan_tile(tables, begin, end, queries[first + slot], wanted, distances, kept)

        for slot in range(n_slots):
            kept = _List(state[slot], histogram[slot], group_found[slot], group_far[slot])
            done, bound, length = first + slot, kept.state[2], kept.state[0]
            begin = limits[done]
            end = begin + np.count_nonzero(kept.far[:length] <= bound)
            if done > 0 and end > capacity:
                return done, radius[:done], limits[: done + 1], found[:begin], far[:begin]
            while end > len(found):
                found, far = np.append(found, np.empty_like(found)), np.append(far, np.empty_like(far))
            for place in range(length):
                if kept.far[place] <= bound:
                    found[begin], far[begin] = kept.found[place], kept.far[place]
                    begin += 1
            radius[done], limits[done + 1] = bound, end
            usual += (bound - usual) / 16
    return n_queries, radius, limits, found[: limits[n_queries]], far[: limits[n_queries]]
