"""Distance histograms per query: the one pass over the codes that every measure shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi.codes import Codes, _as_words, check_codes
from thpi.kernels import pays_off
from thpi.kernels._threads import n_threads, run_in_order
from thpi.metrics._relevance import Block, Relevance, relevance_blocks

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# Of a block of queries: counts, and of graded relevance the gains by distance and the ideal of each query.
_Part: TypeAlias = tuple[Counts, list[Floats], list[tuple[Floats, Counts]]]

# Pairs held at a time: bounds the memory whatever the number of queries (some tens of MiB).
_BLOCK_PAIRS = 2**21
# Pairs whose exclusive-or is formed at a time: its 8 bytes a pair then stay in cache.
_CHUNK_PAIRS = 2**15

GAINS: dict[str, Callable[[Block], Floats]] = {
    "linear": lambda grades: grades.astype(np.float64),
    "exponential": lambda grades: np.exp2(grades.astype(np.float64)) - 1.0,
}


def _ones_by_shifts(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """Count the ones of each word, for numpy 1.26 which has no ``bitwise_count``.

    Sums of neighbouring bits, then of pairs, then of fours; the product adds up the eight bytes in the top one.
    """
    u = np.uint64  # numpy 1.26 turns uint64 with a plain int into float64
    twos, fours = u(0x3333333333333333), u(0x0F0F0F0F0F0F0F0F)
    x = words - ((words >> u(1)) & u(0x5555555555555555))
    x = (x & twos) + ((x >> u(2)) & twos)
    x = (x + (x >> u(4))) & fours
    ones: npt.NDArray[np.uint8] = ((x * u(0x0101010101010101)) >> u(56)).astype(np.uint8)
    return ones


_ones: Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.uint8]] = getattr(np, "bitwise_count", _ones_by_shifts)


def block_distances(queries: npt.NDArray[np.uint64], database: npt.NDArray[np.uint64], dtype: npt.DTypeLike) -> Block:
    """Hamming distances of words ``queries`` (n x words) to ``database`` (words x m) in a narrow ``dtype``."""
    n, m = len(queries), database.shape[1]
    distances = np.zeros((n, m), dtype=dtype)
    columns = min(m, _CHUNK_PAIRS)
    rows = max(1, _CHUNK_PAIRS // columns)
    for i in range(0, n, rows):
        for j in range(0, m, columns):
            out = distances[i : i + rows, j : j + columns]
            for word in range(len(database)):
                out += _ones(queries[i : i + rows, word, None] ^ database[None, word, j : j + columns])
    return distances


def _count_narrow(keys: Block, n_keys: int) -> Counts:
    """``bincount`` of a long row; bytes are counted two at a time, which halves the increments."""
    if keys.dtype != np.uint8:
        return np.bincount(keys, minlength=n_keys).astype(np.int64)
    even = len(keys) // 2 * 2
    pairs = np.bincount(keys[:even].view(np.uint16), minlength=2**16).reshape(256, 256)
    counts: Counts = (pairs.sum(axis=0) + pairs.sum(axis=1)).astype(np.int64)
    if even < len(keys):
        counts[keys[-1]] += 1
    return counts[:n_keys]


def count_by_distance(distances: Block, relevant: npt.NDArray[np.bool_], n_bits: int) -> Counts:
    """Count rows by distance, shape ``(n_queries, 2, n_bits + 1)``: not relevant, then relevant.

    ``distances`` must be of a type that holds ``2 * n_bits + 1``, for one key stands for both facts.

    >>> d = np.array([[0, 1, 1]], dtype=np.uint8)
    >>> count_by_distance(d, np.array([[True, False, True]]), n_bits=2)
    array([[[0, 1, 0],
            [1, 1, 0]]])
    """
    n, m = distances.shape
    n_keys = 2 * (n_bits + 1)
    if m >= _CHUNK_PAIRS:
        shift = distances.dtype.type(n_bits + 1)
        counts = np.stack([_count_narrow(d + shift * r, n_keys) for d, r in zip(distances, relevant, strict=True)])
    else:
        keys = distances.astype(np.intp)
        keys += (n_bits + 1) * relevant
        keys += n_keys * np.arange(n)[:, None]
        counts = np.bincount(keys.ravel(), minlength=n * n_keys).astype(np.int64)
    return counts.reshape(n, 2, n_bits + 1)


@dataclass(frozen=True)
class DistanceHistograms:
    """Counts of database rows by Hamming distance; one row a query, one column a distance 0..n_bits.

    ``hist_gain`` holds the sum of gains at each distance, and ``ideal`` for each query its distinct
    positive gains, largest first, with their counts. Both are None when relevance is boolean, where
    ``hist_relevant`` says it all.
    """

    hist_all: Counts
    hist_relevant: Counts
    hist_gain: Floats | None = None
    ideal: list[tuple[Floats, Counts]] | None = None

    @property
    def n_bits(self) -> int:
        """Length of the codes."""
        return int(self.hist_all.shape[1]) - 1

    @property
    def n_database(self) -> int:
        """Number of database rows."""
        return int(self.hist_all[0].sum())

    @cached_property
    def n_relevant(self) -> Counts:
        """Relevant rows of each query."""
        total: Counts = self.hist_relevant.sum(axis=1)
        return total


class Retrieval:
    """Queries, database and relevance of one evaluation; the histograms are made once, on first use.

    >>> r = Retrieval([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2)
    >>> r.histograms.hist_all, r.histograms.hist_relevant
    (array([[1, 2, 0]]), array([[1, 1, 0]]))
    """

    def __init__(
        self,
        queries: npt.ArrayLike,
        database: npt.ArrayLike,
        relevance: Relevance,
        n_bits: int,
        *,
        gain: str = "linear",
    ) -> None:
        if gain not in GAINS:
            raise ValueError(f"gain={gain!r} must be one of {sorted(GAINS)}.")
        query_codes = _check_rows(queries, n_bits, "queries")
        database_codes = _check_rows(database, n_bits, "database")
        self.n_bits, self.gain = n_bits, gain
        self._queries = _as_words(query_codes)
        # Word by word, so that one word of consecutive database rows is consecutive in memory.
        self._database = np.ascontiguousarray(_as_words(database_codes).T)
        self._relevance = relevance_blocks(relevance, len(query_codes), len(database_codes))

    def blocks(self) -> Iterator[tuple[slice, Block, Block]]:
        """Give, for block after block of queries: which queries, their distances, their relevance."""
        for rows, relevance in self._relevance_by_blocks():
            yield rows, self._distances(rows), relevance

    def _relevance_by_blocks(self) -> Iterator[tuple[slice, Block]]:
        n, m = len(self._queries), self._database.shape[1]
        size = max(1, _BLOCK_PAIRS // m)
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            yield rows, self._relevance(rows.start, rows.stop)

    def _distances(self, rows: slice) -> Block:
        return block_distances(self._queries[rows], self._database, np.min_scalar_type(2 * self.n_bits + 1))

    def _counting(self, use_kernel: bool) -> Iterator[Callable[[], _Part]]:
        """Give one task a block, in order; relevance is read here and not within the tasks, as others may have it."""
        graded = False
        for rows, relevance in self._relevance_by_blocks():
            graded |= relevance.dtype != np.bool_
            if graded or not use_kernel:
                yield partial(self._count, rows, relevance, graded)
            else:
                yield partial(self._count_by_kernel, rows, relevance)

    def _count_by_kernel(self, rows: slice, relevant: Block) -> _Part:
        from thpi.kernels.distance_histograms import count_words

        return count_words(self._queries[rows], self._database, relevant, self.n_bits), [], []

    def _count(self, rows: slice, relevance: Block, graded: bool) -> _Part:
        distances = self._distances(rows)
        relevant = relevance if relevance.dtype == np.bool_ else relevance > 0
        gains: list[Floats] = []
        ideal: list[tuple[Floats, Counts]] = []
        if graded:
            for row, grades in zip(distances, GAINS[self.gain](relevance), strict=True):
                summed: Any = np.bincount(row, weights=grades, minlength=self.n_bits + 1)
                gains.append(summed)
                levels, times = np.unique(grades[grades > 0], return_counts=True)
                ideal.append((levels[::-1], times[::-1].astype(np.int64)))
        return count_by_distance(distances, relevant, self.n_bits), gains, ideal

    @cached_property
    def histograms(self) -> DistanceHistograms:
        """The counts by distance of all queries."""
        use_kernel = self.n_bits < 2**15 and pays_off(len(self._queries) * self._database.size)
        parts = run_in_order(self._counting(use_kernel), n_threads() if use_kernel else 1)
        counts = [count for count, _, _ in parts]
        gains = [row for _, rows, _ in parts for row in rows]
        ideal = [row for _, _, rows in parts for row in rows]
        graded = bool(gains)
        both = np.concatenate(counts)
        if graded and len(gains) != len(both):
            raise ValueError("relevance gave boolean blocks first and graded blocks later; use one kind.")
        return DistanceHistograms(
            hist_all=both.sum(axis=1),
            hist_relevant=both[:, 1],
            hist_gain=np.stack(gains) if graded else None,
            ideal=ideal if graded else None,
        )


def distance_histograms(
    queries: npt.ArrayLike, database: npt.ArrayLike, relevance: Relevance, n_bits: int, *, gain: str = "linear"
) -> DistanceHistograms:
    """Count, for each query, all and the relevant database rows at each Hamming distance 0..n_bits.

    Memory beyond the codes is some tens of MiB and the histograms, if ``relevance`` is a callable. Graded
    relevance adds the distinct grades of each query.

    >>> h = distance_histograms([[0b00]], [[0b00], [0b01], [0b10]], [[3, 0, 1]], n_bits=2)
    >>> h.hist_all, h.hist_relevant, h.hist_gain
    (array([[1, 2, 0]]), array([[1, 1, 0]]), array([[3., 1., 0.]]))
    """
    return Retrieval(queries, database, relevance, n_bits, gain=gain).histograms


def _check_rows(codes: Any, n_bits: int, name: str) -> Codes:
    packed = check_codes(codes, n_bits=n_bits, name=name)
    if not len(packed):
        raise ValueError(f"{name} has no rows; at least one is needed.")
    return packed
