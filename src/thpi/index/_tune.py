"""Approximate search by inverted lists of faiss, tuned on sampled queries and measured on others.

Recall at k counts the returned items that are as near as the true k-th neighbour:

    recall = (number of returned items with distance <= distance of the true k-th) / (n_queries k)

so any of the items tied at the k-th distance may be returned. The lists must reach it in both orders: by Hamming
distance, then by asymmetric distance among enough candidates to contain the true nearest ones. Sampled
queries are stored codes, whose projections are given sizes like those of normal numbers; the item itself is left out of
the answer and of the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from thpi._types import Array, Bools, Codes, Floats, Ints
from thpi.codes import unpack_signs
from thpi.index._exact import block_length, faiss_module, in_blocks, nearest, nearest_asymmetric, order_asymmetric
from thpi.index._queries import Queries

T = TypeVar("T")

_N_QUERIES = 256
_SMALL = 10_000  # below this many codes a flat scan takes well under a tenth of a millisecond
_CANDIDATES = (1, 2, 5, 10, 20, 50, 100)  # by how many times k: ordered by asymmetric distance
_WORTH = 0.1  # exact search is kept if the lists save less than this share of its time


class Approximate:
    """Inverted lists around learned centres, over the first rows of a snapshot. Searching does not change them.

    ``positions`` maps each row of the lists to its row in the current snapshot, or to -1 if it was removed since. Rows
    keep their order, so those that remain are the first ``n_covered`` rows of the snapshot.
    """

    def __init__(self, index: Any, positions: Ints | None = None) -> None:
        self.index, self.n_built = index, int(index.ntotal)
        self.positions = np.arange(self.n_built) if positions is None else positions
        self.n_covered = int((self.positions >= 0).sum())

    def without(self, kept: Bools) -> Approximate:
        """Return the same lists for a snapshot that keeps only the marked rows of the current one."""
        return Approximate(self.index, _mapped(self.positions, np.where(kept, np.cumsum(kept) - 1, -1)))

    def nearest(self, queries: Codes, k: int) -> tuple[Ints, Ints]:
        """Distances and positions of ``k`` near rows by (distance, position); position -1 if fewer were found."""
        asked = min(self.n_built, k + min(self.n_built - self.n_covered, k + 32))
        distances, found = self.index.search(queries, asked)
        return smallest(distances.astype(np.int64), _mapped(found, self.positions), k)

    def search(
        self,
        signs: Codes,
        projections: Floats | None,
        codes: Codes,
        k: int,
        candidates: int,
        check: Callable[[], None],
    ) -> tuple[Array, Ints]:
        """Search a snapshot by Hamming distance; with projections, order ``candidates`` by asymmetric distance.

        It is exact for rows added later, and for queries with too few answers.
        """
        asked = k if projections is None else min(candidates, self.n_covered)
        distances, positions = in_blocks(lambda some: self.nearest(some, asked), signs, block_length(len(codes)), check)
        tail = codes[self.n_covered :]
        if len(tail):
            tail_distances, tail_positions = nearest(signs, tail, asked, check)
            positions = np.hstack([positions, tail_positions + self.n_covered])
            distances, positions = smallest(np.hstack([distances, tail_distances]), positions, asked)
        failed = (positions < 0).any(axis=1)
        if failed.any():
            again = nearest(np.ascontiguousarray(signs[failed]), codes, asked, check)
            distances[failed], positions[failed] = again
        if projections is not None:
            return order_asymmetric(projections, codes, positions, k, check)
        return distances.astype(np.int32), positions


def _mapped(rows: Ints, places: Ints) -> Ints:
    """Return the place of each row; -1 stays."""
    return np.where(rows >= 0, places[np.maximum(rows, 0)], -1)


def smallest(distances: Ints, positions: Ints, k: int) -> tuple[Ints, Ints]:
    """Order each row by (distance, position) and keep ``k``; entries with position -1 come last."""
    # Both in one sortable number: distances are below 2^23, positions below 2^40.
    last = np.iinfo(np.int64).max
    keys = np.sort(np.where(positions >= 0, distances << 40 | positions, last), axis=1)[:, :k]
    missing = keys == last
    return np.where(missing, -1, keys >> 40), np.where(missing, -1, keys & (2**40 - 1))


def build(codes: Codes, seed: int) -> Approximate:
    """Make about as many lists as a list has codes; the same seed gives the same lists."""
    faiss = faiss_module()
    n, d = len(codes), 8 * codes.shape[1]
    n_lists = 2 ** round(np.log2(max(2.0, np.sqrt(n))))
    quantizer = faiss.IndexBinaryFlat(d)
    index = faiss.IndexBinaryIVF(quantizer, d, n_lists)
    index.own_fields = True
    quantizer.this.disown()
    index.cp.seed = seed
    index.cp.min_points_per_centroid = 1  # or faiss prints a warning about few rows
    sample = np.random.RandomState(seed).permutation(n)[: 64 * n_lists]
    index.train(codes[np.sort(sample)])
    index.add(codes)
    return Approximate(index)


@dataclass(frozen=True)
class TuneReport:
    """Result of tuning: ``kind`` of search, "exact" or "ivf" (inverted lists, of which ``nprobe`` are searched).

    ``reached`` is the recall on queries not used for tuning, the lower of both orders; the milliseconds are those of a
    query in Hamming order. Few codes are not measured. A search by asymmetric distance orders ``candidates`` items that
    were found by Hamming distance.

    >>> print(TuneReport("ivf", 0.99, 0.9921, 10, 50_000, 0.04, 0.2, 0.5, 12, 20))
    ivf for recall 0.99 at k=10 over 50,000 codes: reached 0.9921, 0.040 ms per query (exact 0.200), nprobe=12
    """

    kind: str
    target: float
    reached: float
    k: int
    n: int
    milliseconds: float | None = None
    exact_milliseconds: float | None = None
    build_seconds: float = 0.0
    nprobe: int = 0
    candidates: int = 0

    def __str__(self) -> str:
        text = f"{self.kind} for recall {self.target:g} at k={self.k} over {self.n:,} codes: reached {self.reached:.4f}"
        if self.milliseconds is not None:
            text += f", {self.milliseconds:.3f} ms per query (exact {self.exact_milliseconds:.3f})"
        return f"{text}, nprobe={self.nprobe}" if self.nprobe else text


def tune(
    codes: Codes, target: float, k: int, queries: Queries | None, random_state: int
) -> tuple[Approximate | None, TuneReport]:
    """Return lists that reach ``target`` in less time than exact search, else None, and the report."""
    exact = TuneReport("exact", target, 1.0, k, len(codes))
    # It takes an item to leave out, k neighbours, and two halves of queries.
    if target == 1 or len(codes) < max(_SMALL, k + 2) or (queries is not None and len(queries[0]) < 2):
        return None, exact
    trial = _Trial(codes, k, queries, target, np.random.RandomState(random_state))
    start = time.perf_counter()
    lists = build(codes, random_state)
    seconds = time.perf_counter() - start
    reached, milliseconds = _climb(lists, trial, target)
    if reached < target or milliseconds >= (1 - _WORTH) * trial.exact_milliseconds:
        return None, replace(exact, milliseconds=trial.exact_milliseconds, exact_milliseconds=trial.exact_milliseconds)
    times = milliseconds, trial.exact_milliseconds, round(seconds, 3)
    return lists, TuneReport("ivf", target, reached, k, len(codes), *times, lists.index.nprobe, trial.candidates)


class _Trial:
    """Queries with their true answers in both orders: one half to tune on, the other to measure on."""

    def __init__(
        self, codes: Codes, k: int, queries: Queries | None, target: float, rng: np.random.RandomState
    ) -> None:
        self.codes, self.k = codes, k
        if queries is None:
            self.own = np.sort(rng.permutation(len(codes))[: 2 * _N_QUERIES])
            queries = codes[self.own], None
        else:
            self.own = np.full(len(queries[0]), -2)  # no row: one answer too many is left out
        self.queries, given = queries
        signs = unpack_signs(self.queries, 8 * codes.shape[1])
        self.projections: Floats = np.abs(rng.standard_normal(signs.shape)) * signs if given is None else given
        self.exact_milliseconds, found = _timed(lambda: nearest(self.queries, codes, k + 1), self.queries)
        self.kth = self._leave_out(*found, slice(None))[0][:, -1:]
        truth = nearest_asymmetric(self.projections, codes, k + 1)
        self.finer_kth = self._leave_out(*truth, slice(None))[0][:, -1:]
        self.candidates = self._enough(1 - (1 - target) / 2)

    def _enough(self, wanted: float) -> int:
        """Return how many of the nearest by Hamming distance contain enough of the nearest by asymmetric distance."""
        half = slice(0, None, 2)
        counts = [times * self.k for times in _CANDIDATES if times * self.k < len(self.codes) // 4] or [self.k]
        _, found = nearest(np.ascontiguousarray(self.queries[half]), self.codes, counts[-1])
        for count in counts:
            if self._finer(found[:, :count], half).mean() >= wanted:
                break
        return count

    def recall_and_time(self, candidate: Approximate, half: slice) -> tuple[Floats, float]:
        """Recall of each query of a half in both orders (2 x n), and milliseconds per query."""
        queries = np.ascontiguousarray(self.queries[half])
        milliseconds, found = _timed(lambda: candidate.nearest(queries, self.k + 1), queries)
        distances, positions = self._leave_out(*found, half)
        hits = (positions >= 0) & (distances <= self.kth[half])
        _, more = candidate.nearest(queries, self.candidates)
        return np.stack([hits.mean(axis=1), self._finer(more, half)]), milliseconds

    def _finer(self, found: Ints, half: slice) -> Floats:
        """Recall of each query of a half, if the rows found are ordered by asymmetric distance."""
        ordered = order_asymmetric(self.projections[half], self.codes, found, self.k + 1)
        distances, _ = self._leave_out(*ordered, half)
        return np.asarray((distances <= self.finer_kth[half]).sum(axis=1) / self.k)

    def _leave_out(self, distances: Array, positions: Ints, half: slice) -> tuple[Array, Ints]:
        itself = positions == self.own[half][:, None]
        # A query that did not find itself loses its last answer, so that all have k.
        itself[:, -1] |= ~itself.any(axis=1)
        shape = (len(positions), positions.shape[1] - 1)
        return distances[~itself].reshape(shape), positions[~itself].reshape(shape)


def _climb(lists: Approximate, trial: _Trial, target: float) -> tuple[float, float]:
    """Search more lists until both halves reach the target or exact search is faster; recall and milliseconds."""
    lists.index.nprobe = 1
    while True:
        tuned, milliseconds = trial.recall_and_time(lists, slice(0, None, 2))
        last = milliseconds > trial.exact_milliseconds or lists.index.nprobe >= lists.index.nlist
        # Ask for one standard error more, because the sample is small. If the held-out half still falls short, this
        # half was lucky: a little more effort is cheaper than an exact search.
        if last or (tuned.mean(axis=1) - tuned.std(axis=1) / np.sqrt(tuned.shape[1])).min() >= target:
            held_out, milliseconds = trial.recall_and_time(lists, slice(1, None, 2))
            reached = float(held_out.mean(axis=1).min())
            if last or reached >= target:
                return reached, milliseconds
        lists.index.nprobe = min(lists.index.nlist, lists.index.nprobe + max(1, lists.index.nprobe // 2))


def _timed(search: Callable[[], T], queries: Codes) -> tuple[float, T]:
    """Milliseconds per query in the faster of two runs, and the answer."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        answer = search()
        seconds.append(time.perf_counter() - start)
    return min(seconds) * 1e3 / max(1, len(queries)), answer
