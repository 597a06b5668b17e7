"""Exact nearest codes under the Hamming distance by multi-index hashing (Norouzi, Punjani and Fleet 2014), compiled.

A code is cut into m pieces. A code at distance m s + t or less from the query differs from it in at most s bits in one
of the first t + 1 pieces, or in at most s - 1 bits in one of the others. So looking up the pieces in the order (s, t),
ring by ring, finds everything within a distance that grows by one with each ring. If the rings would cost more
than a scan of all codes, the codes are scanned.
"""

from __future__ import annotations

from math import comb

import numpy as np

from thpi._types import Array
from thpi.kernels._numba import compiled, popcount

__all__ = ["MultiIndex"]

# Codes of one tile of the scan (they and their distances stay in the first-level cache), and queries that share it.
_TILE, _TOGETHER = 512, 8
# Codes that are scanned in the time of one look-up, or of one code found by it.
_SCANNED_IN_ONE_LOOK_UP = 8.0
# Longest piece: its table has 2^16 entries.
_LONGEST_PIECE = 16


class MultiIndex:
    """Distinct codes (n x w words), each shared by ``size`` rows, with a table for each piece of their bits.

    >>> index = MultiIndex(np.array([[0b000], [0b001], [0b111]], np.uint64), np.array([1, 1, 1]), 3)
    >>> n_done, radius, limits, found, far = index.nearest(np.array([0]), wanted=2, capacity=10)
    >>> radius, sorted(found.tolist())
    (array([1]), [0, 1])
    """

    def __init__(self, words: Array, size: Array, n_bits: int) -> None:
        self.words, self.size = np.ascontiguousarray(words, dtype=np.uint64), size.astype(np.int64)
        n = len(words)
        longest = min(_LONGEST_PIECE, max(4, n.bit_length()), n_bits)
        edges = np.linspace(0, n_bits, -(-n_bits // longest) + 1).astype(np.int64)
        # Longer pieces first, so that the first one bounds the rings.
        self.lengths = np.sort(np.diff(edges))[::-1].copy()
        edges = np.concatenate([[0], np.cumsum(self.lengths)])
        m, top = len(self.lengths), 1 << int(self.lengths[0])
        self.pieces = np.zeros((m, words.shape[1]), dtype=np.uint64)
        for t in range(m):
            for bit in range(edges[t], edges[t + 1]):
                self.pieces[t, bit // 64] |= np.uint64(1 << (bit % 64))
        self.keys = np.empty((m, n), dtype=np.uint32)
        self.starts = np.zeros((m, top + 1), dtype=np.int32)
        self.members = np.empty((m, n), dtype=np.int32)
        # A copy of the codes in the order of each table: those with the same piece are contiguous.
        self.near = np.empty((m, *self.words.shape), dtype=np.uint64)
        for t in range(m):
            self.keys[t] = _piece(self.words, int(edges[t]), int(self.lengths[t]))
            np.cumsum(np.bincount(self.keys[t], minlength=top), out=self.starts[t, 1:])
            self.members[t] = np.argsort(self.keys[t].astype(np.uint16), kind="stable")
            self.near[t] = self.words[self.members[t]]
        values = np.arange(top, dtype=np.uint32)
        ones = np.array([int(value).bit_count() for value in values])
        self.masks = values[np.argsort(ones, kind="stable")]
        self.shells = np.concatenate([[0], np.cumsum(np.bincount(ones))])
        rings = [
            comb(int(length), s) * (1 + n / 2.0 ** int(length))
            for s in range(int(self.lengths[0]) + 1)
            for length in self.lengths
        ]
        self.cost = np.concatenate([[0], np.cumsum(rings)])

    def nearest(self, queries: Array, wanted: int, capacity: int) -> tuple[int, Array, Array, Array, Array]:
        """Find, for each query (the number of a code), all codes within the least distance that holds ``wanted`` rows.

        Returns the number of queries done, the distance of each, the limits of their lists, and the lists: codes and
        their distances, in any order. The first query is always done; a later one whose list does not fit into
        ``capacity`` ends the run.
        """
        return _nearest(
            self.words, self.size, queries, wanted, self.keys, self.starts, self.members, self.near, self.pieces,
            self.lengths, self.masks, self.shells, self.cost, len(self.words) / _SCANNED_IN_ONE_LOOK_UP, capacity,
        )  # fmt: skip


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
    code: int, distance: int, state: Array, histogram: Array, found: Array, far: Array, rows: int, wanted: int
) -> None:
    """Append a code to the list; ``state`` is the length of the list, the rows within the bound, and the bound."""
    found[state[0]] = code
    far[state[0]] = distance
    state[0] += 1
    histogram[distance] += rows
    state[1] += rows
    while state[1] - histogram[state[2]] >= wanted:
        state[1] -= histogram[state[2]]
        state[2] -= 1


@compiled
def _look_up(
    words: Array, size: Array, query: int, wanted: int, keys: Array, starts: Array, members: Array, near: Array,
    pieces: Array, lengths: Array, masks: Array, shells: Array, cost: Array, budget: float, usual: float,
    state: Array, histogram: Array, found: Array, far: Array,
) -> bool:  # fmt: skip
    """Go through the rings; return whether they sufficed."""
    n_pieces, n_words = pieces.shape
    code = words[query]
    work = 0
    for ring in range(len(cost) - 1):
        s, t = ring // n_pieces, ring % n_pieces
        # Rings are needed up to the final bound: at most the present one, and likely the usual one.
        target = max(ring, min(state[2], np.int64(usual))) if state[1] >= wanted else ring
        if work > budget or cost[min(target + 1, len(cost) - 1)] - cost[ring] > budget:
            return False
        for place in range(shells[s], shells[s + 1]):
            mask = masks[place]
            if mask >> lengths[t]:
                break
            value = keys[t, query] ^ mask
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
                    candidate = members[t, position]
                    _keep(candidate, distance, state, histogram, found, far, size[candidate], wanted)
        if state[1] >= wanted and state[2] <= ring:
            return True
    return bool(state[1] >= wanted)


@compiled
def _scan_tile(
    words: Array, size: Array, begin: int, end: int, query: int, wanted: int, distances: Array,
    state: Array, histogram: Array, found: Array, far: Array,
) -> None:  # fmt: skip
    """Go through one tile of codes for one query."""
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
            _keep(begin + j, distances[j], state, histogram, found, far, size[begin + j], wanted)


@compiled
def _longer(array: Array, length: int) -> Array:
    longer = np.empty(length, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@compiled
def _nearest(
    words: Array, size: Array, queries: Array, wanted: int, keys: Array, starts: Array, members: Array, near: Array,
    pieces: Array, lengths: Array, masks: Array, shells: Array, cost: Array, budget: float, capacity: int,
) -> tuple[int, Array, Array, Array, Array]:  # fmt: skip
    n, n_words = words.shape
    farthest = 64 * n_words
    n_queries = len(queries)
    radius, limits = np.zeros(n_queries, dtype=np.int64), np.zeros(n_queries + 1, dtype=np.int64)
    found, far = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.int16)
    group_found = np.empty((_TOGETHER, n), dtype=np.int32)
    group_far = np.empty((_TOGETHER, n), dtype=np.int16)
    histogram = np.zeros((_TOGETHER, farthest + 1), dtype=np.int64)
    state = np.zeros((_TOGETHER, 3), dtype=np.int64)
    to_scan = np.zeros(_TOGETHER, dtype=np.bool_)
    usual = 0.0  # mean radius of the last queries, which decides between look-ups and a scan
    distances = np.empty(_TILE, dtype=np.uint16)

    for first in range(0, n_queries, _TOGETHER):
        n_slots = min(_TOGETHER, n_queries - first)
        for slot in range(n_slots):
            histogram[slot] = 0
            state[slot, 0], state[slot, 1], state[slot, 2] = 0, 0, farthest
            to_scan[slot] = not _look_up(
                words, size, queries[first + slot], wanted, keys, starts, members, near, pieces, lengths, masks,
                shells, cost, budget, usual, state[slot], histogram[slot], group_found[slot], group_far[slot],
            )  # fmt: skip
            if to_scan[slot]:
                # The bound found so far holds; the list begins anew.
                histogram[slot] = 0
                state[slot, 0], state[slot, 1] = 0, 0
        if to_scan[:n_slots].any():
            for begin in range(0, n, _TILE):
                for slot in range(n_slots):
                    if to_scan[slot]:
                        _scan_tile(
                            words, size, begin, min(begin + _TILE, n), queries[first + slot], wanted, distances,
                            state[slot], histogram[slot], group_found[slot], group_far[slot],
                        )  # fmt: skip

        for slot in range(n_slots):
            done, bound, length = first + slot, state[slot, 2], state[slot, 0]
            begin = limits[done]
            end = begin + np.count_nonzero(group_far[slot, :length] <= bound)
            if done > 0 and end > capacity:
                return done, radius[:done], limits[: done + 1], found[:begin], far[:begin]
            if end > len(found):
                found, far = _longer(found, max(2 * len(found), end)), _longer(far, max(2 * len(far), end))
            for place in range(length):
                if group_far[slot, place] <= bound:
                    found[begin] = group_found[slot, place]
                    far[begin] = group_far[slot, place]
                    begin += 1
            radius[done] = bound
            usual += (bound - usual) / 16
            limits[done + 1] = end
    return n_queries, radius, limits, found[: limits[n_queries]], far[: limits[n_queries]]
