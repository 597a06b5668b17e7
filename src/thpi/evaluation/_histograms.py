"""Distance histograms per query: the one pass over the codes that every measure shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from thpi._types import Array, Bools, Floats, InMemory, Ints, Words, is_sparse
from thpi.codes import as_words, check_codes, count_ones
from thpi.kernels import pays_off
from thpi.kernels.threads import n_threads, run_in_order

Gain = Literal["linear", "exponential"]
RowBlock: TypeAlias = "ArrayLike | InMemory"
Relevant: TypeAlias = "RowBlock | Callable[[int, int], RowBlock]"
"""A dense array or a scipy sparse matrix (n_queries x n_database), or a function (start, stop) -> block of queries."""

# For a block of queries: the counts and, with graded relevance, the gains by distance and each query's ideal gains.
_Part: TypeAlias = tuple[Ints, list[Floats], list[tuple[Floats, Ints]]]

_BLOCK_PAIRS = 2**21  # pairs processed at a time; limits the memory to some tens of MiB for any number of queries
_CHUNK_PAIRS = 2**15  # pairs whose exclusive-or is formed at a time, so that its 8 bytes per pair stay in cache

GAINS: dict[str, Callable[[Array], Floats]] = {
    "linear": lambda grades: grades.astype(np.float64),
    "exponential": lambda grades: np.exp2(grades.astype(np.float64)) - 1.0,
}


def block_distances(queries: Words, database: Words, dtype: DTypeLike) -> Array:
    """Hamming distances of words ``queries`` (n x words) to ``database`` (words x m) in a narrow ``dtype``."""
    distances = np.zeros((len(queries), database.shape[1]), dtype=dtype)
    rows = max(1, _CHUNK_PAIRS // database.shape[1])
    for start in range(0, len(queries), rows):
        for i in range(len(database)):
            distances[start : start + rows] += count_ones(queries[start : start + rows, i, None] ^ database[i])
    return distances


def count_by_distance(distances: Array, relevant: Bools, n_bits: int) -> Ints:
    """Count rows by distance, shape ``(n_queries, 2, n_bits + 1)``: not relevant, then relevant."""
    keys = distances + (n_bits + 1) * (relevant + 2 * np.arange(len(distances))[:, None])
    counts = np.bincount(keys.ravel(), minlength=len(distances) * 2 * (n_bits + 1))
    return counts.astype(np.int64, copy=False).reshape(len(distances), 2, n_bits + 1)


@dataclass(frozen=True)
class DistanceHistograms:
    """Number of database rows by Hamming distance: one row per query, one column per distance 0..n_bits.

    With graded relevance, ``hist_gain`` is the sum of gains at each distance, and ``ideal`` lists for each query its
    distinct positive gains in descending order with their counts. With boolean relevance both are None.
    """

    hist_all: Ints
    hist_relevant: Ints
    hist_gain: Floats | None = None
    ideal: list[tuple[Floats, Ints]] | None = None

    @property
    def n_bits(self) -> int:
        return int(self.hist_all.shape[1]) - 1

    @property
    def n_database(self) -> int:
        return int(self.hist_all[0].sum())

    @cached_property
    def n_relevant(self) -> Ints:
        return np.asarray(self.hist_relevant.sum(axis=1))


class Retrieval:
    """Queries, database and relevance of one evaluation; the histograms are computed on first use."""

    def __init__(
        self, queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, gain: str = "linear"
    ) -> None:
        self.n_bits, self.gain = n_bits, check_gain(gain)
        self._queries = _check_rows(queries, n_bits, "queries")
        # Transposed, so that one word of consecutive database rows is consecutive in memory.
        self._database = np.ascontiguousarray(_check_rows(database, n_bits, "database").T)
        self._relevance = relevance_blocks(relevance, len(self._queries), self._database.shape[1])

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of queries: their numbers and relevance."""
        return relevance_in_blocks(self._relevance, len(self._queries), self._database.shape[1], _BLOCK_PAIRS)

    def distances(self, rows: slice) -> Array:
        return block_distances(self._queries[rows], self._database, np.min_scalar_type(2 * self.n_bits + 1))

    def _counting(self, use_kernel: bool) -> Iterator[Callable[[], _Part]]:
        """Yield one task per block; relevance is read here, because a user's function need not be thread-safe."""
        graded = False
        for rows, relevance in self.blocks():
            graded |= relevance.dtype != np.bool_
            yield partial(self._count, rows, relevance, graded, use_kernel)

    def _count(self, rows: slice, relevance: Array, graded: bool, use_kernel: bool) -> _Part:
        if use_kernel and not graded:
            from thpi.kernels.scans import count_words

            return count_words(self._queries[rows], self._database, relevance, self.n_bits), [], []
        return _count(self.distances(rows), relevance, self.n_bits, self.gain if graded else None)

    @cached_property
    def histograms(self) -> DistanceHistograms:
        use_kernel = self.n_bits < 2**15 and pays_off(len(self._queries) * self._database.size)
        return _joined(run_in_order(self._counting(use_kernel), n_threads() if use_kernel else 1))


class Ranking:
    """The same for a block of distances (n_queries x n_database) of any kind: every group of tied rows is a distance.

    The histogram has one column per group, so all of it is as large as the distances.
    """

    def __init__(self, distances: Array, relevance: Array, gain: str = "linear") -> None:
        (n, m), order = distances.shape, np.argsort(distances, axis=1)
        groups = np.zeros((n, m), dtype=np.int64)
        behind = np.diff(np.take_along_axis(distances, order, axis=1), axis=1) > 0
        np.put_along_axis(groups, order[:, 1:], behind.cumsum(axis=1), axis=1)
        graded = None if relevance.dtype == np.bool_ else check_gain(gain)
        self.histograms = _joined([_count(groups, relevance, m - 1, graded)])


def _count(distances: Array, relevance: Array, n_bits: int, gain: str | None) -> _Part:
    gains, ideal = [], []
    if gain is not None:
        for row, grades in zip(distances, GAINS[gain](relevance), strict=True):
            gains.append(np.bincount(row, weights=grades, minlength=n_bits + 1).astype(np.float64, copy=False))
            levels, times = np.unique(grades[grades > 0], return_counts=True)
            ideal.append((levels[::-1], times[::-1].astype(np.int64)))
    return count_by_distance(distances, relevance > 0, n_bits), gains, ideal


def _joined(parts: list[_Part]) -> DistanceHistograms:
    counts = np.concatenate([part[0] for part in parts])
    gains, ideal = [row for part in parts for row in part[1]], [row for part in parts for row in part[2]]
    if not gains:
        return DistanceHistograms(counts.sum(axis=1), counts[:, 1])
    if len(gains) != len(counts):
        raise ValueError("relevance gave boolean blocks first and graded blocks later; use one kind.")
    return DistanceHistograms(counts.sum(axis=1), counts[:, 1], np.stack(gains), ideal)


def check_distances(distances: ArrayLike) -> Array:
    d = np.asarray(distances)
    if d.ndim != 2 or d.dtype.kind not in "fiu" or not np.isfinite(d).all():
        raise ValueError(f"distances must be a 2-D array of finite numbers, got shape {d.shape} and dtype {d.dtype}.")
    return d


def check_gain(gain: str) -> str:
    if gain not in GAINS:
        raise ValueError(f"gain={gain!r} must be one of {sorted(GAINS)}.")
    return gain


def distance_histograms(
    queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, *, gain: str = "linear"
) -> DistanceHistograms:
    """Count, for each query, all and the relevant database rows at each Hamming distance 0..n_bits.

    ``relevance`` is a dense array or a scipy sparse matrix of shape ``(n_queries, n_database)``, or a function
    ``relevance(start, stop)`` that returns the rows of queries ``start..stop-1``, so that the memory beyond the codes
    is some tens of MiB and the histograms. Values are True/False or grades >= 0; a grade above 0 means relevant.

    >>> h = distance_histograms([[0b00]], [[0b00], [0b01], [0b10]], [[3, 0, 1]], n_bits=2)
    >>> h.hist_all, h.hist_relevant, h.hist_gain
    (array([[1, 2, 0]]), array([[1, 1, 0]]), array([[3., 1., 0.]]))
    """
    return Retrieval(queries, database, relevance, n_bits, gain=gain).histograms


def relevance_blocks(relevance: Relevant, n_queries: int, n_database: int) -> Callable[[int, int], Array]:
    """Turn any form of relevance into a function ``(start, stop) -> dense block`` of those queries."""
    if callable(relevance):
        rows = relevance
    else:
        matrix: InMemory = relevance.tocsr() if is_sparse(relevance) else np.asarray(relevance)
        if matrix.shape != (n_queries, n_database):
            rows_given = f"{n_queries} queries and {n_database} database rows"
            raise ValueError(f"relevance has shape {matrix.shape}; {rows_given} need shape {(n_queries, n_database)}.")

        def rows(start: int, stop: int) -> InMemory:
            return matrix[start:stop]  # type: ignore[no-any-return]

    return lambda start, stop: _check_block(rows(start, stop), (stop - start, n_database))


def relevance_in_blocks(
    relevance: Callable[[int, int], Array], n_queries: int, n_database: int, n_pairs: int
) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of queries, of at most ``n_pairs`` pairs or one query: their numbers and relevance."""
    size = max(1, n_pairs // n_database)
    for start in range(0, n_queries, size):
        stop = min(start + size, n_queries)
        yield slice(start, stop), relevance(start, stop)


def _check_block(rows: RowBlock, shape: tuple[int, int]) -> Array:
    block: Array = rows.toarray() if is_sparse(rows) else np.asarray(rows)
    if block.shape != shape:
        raise ValueError(f"relevance gave a block of shape {block.shape}; it must be {shape}.")
    if block.dtype.kind not in "biuf":
        raise ValueError(f"relevance must be boolean or real numbers, got dtype {block.dtype}.")
    # Written so that NaN is refused as well.
    if block.dtype.kind in "if" and not ((block >= 0) & (block < np.inf)).all():
        raise ValueError("relevance grades must be finite and nonnegative.")
    return block


def _check_rows(codes: ArrayLike, n_bits: int, name: str) -> Words:
    packed = check_codes(codes, n_bits=n_bits, name=name)
    if not len(packed):
        raise ValueError(f"{name} has no rows; at least one is needed.")
    return as_words(packed)
