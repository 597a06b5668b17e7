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
Relevant: TypeAlias = "ArrayLike | InMemory | Callable[[int, int], ArrayLike | InMemory]"
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

    def within(self, radius: int) -> tuple[Ints, Ints]:
        """Rows at distance <= ``radius`` of each query, and the relevant ones."""
        return self.hist_all[:, : radius + 1].sum(axis=1), self.hist_relevant[:, : radius + 1].sum(axis=1)


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
    if gain not in GAINS:
        raise ValueError(f"gain={gain!r} must be one of {sorted(GAINS)}.")
    # Transposed, so that one word of consecutive database rows is consecutive in memory.
    a, b = _check_rows(queries, n_bits, "queries"), np.ascontiguousarray(_check_rows(database, n_bits, "database").T)
    use_kernel = n_bits < 2**15 and pays_off(len(a) * b.size)
    tasks = counting_tasks(a, b, relevance, n_bits, gain, use_kernel)
    return _joined(run_in_order(tasks, n_threads() if use_kernel else 1))


def counting_tasks(
    queries: Words, database: Words, relevance: Relevant, n_bits: int, gain: str, use_kernel: bool
) -> Iterator[Callable[[], _Part]]:
    """Yield one task per block; relevance is read here, because a user's function need not be thread-safe."""
    graded = False
    for rows, block in relevance_in_blocks(relevance, len(queries), database.shape[1], _BLOCK_PAIRS):
        graded |= block.dtype != np.bool_
        count = _count_by_kernel if use_kernel and not graded else _count_block
        yield partial(count, queries[rows], database, block, n_bits, gain if graded else None)


def _count_by_kernel(queries: Words, database: Words, relevance: Array, n_bits: int, gain: str | None) -> _Part:
    from thpi.kernels.scans import count_words

    return count_words(queries, database, relevance, n_bits), [], []


def _count_block(queries: Words, database: Words, relevance: Array, n_bits: int, gain: str | None) -> _Part:
    distances = block_distances(queries, database, np.min_scalar_type(2 * n_bits + 1))
    return _count(distances, relevance, n_bits, gain)


def ranking_histograms(distances: Array, relevance: Array) -> DistanceHistograms:
    """The same for a block of distances (n_queries x n_database) of any kind: every group of tied rows is a distance.

    The histogram has one column per group, so all of it is as large as the distances.
    """
    (n, m), order = distances.shape, np.argsort(distances, axis=1)
    groups = np.zeros((n, m), dtype=np.int64)
    behind = np.diff(np.take_along_axis(distances, order, axis=1), axis=1) > 0
    np.put_along_axis(groups, order[:, 1:], behind.cumsum(axis=1), axis=1)
    return _joined([_count(groups, relevance, m - 1, None if relevance.dtype == np.bool_ else "linear")])


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


def relevance_in_blocks(
    relevance: Relevant, n_queries: int, n_database: int, n_pairs: int
) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of queries, of at most ``n_pairs`` pairs or one query: their numbers and dense relevance."""
    if not callable(relevance):
        matrix: InMemory = relevance.tocsr() if is_sparse(relevance) else np.asarray(relevance)
        if matrix.shape != (n_queries, n_database):
            rows_given = f"{n_queries} queries and {n_database} database rows"
            raise ValueError(f"relevance has shape {matrix.shape}; {rows_given} need shape {(n_queries, n_database)}.")
    size = max(1, n_pairs // n_database)
    for start in range(0, n_queries, size):
        stop = min(start + size, n_queries)
        rows = relevance(start, stop) if callable(relevance) else matrix[start:stop]
        yield slice(start, stop), _check_block(rows, (stop - start, n_database))


def _check_block(rows: ArrayLike | InMemory, shape: tuple[int, int]) -> Array:
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
