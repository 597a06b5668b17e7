"""The approximate structures of faiss, and the choice among them: tuned on sampled queries, measured on others.

Recall at k counts the returned items that are as near as the true k-th neighbour:

    recall = (number of returned items with distance <= distance of the true k-th) / (n_queries k)

so any of the items tied at the k-th distance may be returned. A structure must reach it in both orders: by Hamming
distance, and by asymmetric distance among its candidates, so many that the true nearest are among them. Sampled queries
are stored codes, whose projections are given sizes like those of normal numbers; the item itself is left out of the
answer and of the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from thpi._types import Array, Bools, Codes, Distances, Floats, Ints
from thpi.codes import unpack_signs
from thpi.index._asymmetric import nearest_asymmetric, order_asymmetric
from thpi.index._exact import block_length, faiss_module, in_blocks, nearest
from thpi.index._queries import Queries

T = TypeVar("T")

_N_QUERIES = 256
_SMALL = 10_000  # below this many codes a flat scan takes well under a tenth of a millisecond
_HNSW_LIMIT = 250_000  # above this the graph is only built on request: it takes minutes per million codes
_CANDIDATES = (1, 2, 5, 10, 20, 50, 100)  # by how many times k: ordered by asymmetric distance
_WORTH = 0.1  # exact search is kept if another kind saves less than this share of its time

_EFFORT = {"ivf": "nprobe", "hnsw": "efSearch", "multihash": "nflip"}

KINDS = tuple(_EFFORT)
"""Inverted lists around learned centres; a graph of neighbours; tables of parts of the code."""


class Approximate:
    """A faiss structure over the first rows of a snapshot. Searching does not change it.

    After a removal, ``positions`` maps each row of the structure to its row in the current snapshot, or to -1 if it was
    removed. Rows keep their order, so those that remain are the first ``n_covered`` rows of the snapshot.
    """

    def __init__(self, kind: str, index: Any, parameters: dict[str, int]) -> None:
        self.kind, self.index, self.parameters = kind, index, parameters
        self.n_built = self.n_covered = int(index.ntotal)
        self.positions: Ints | None = None
        self.set_effort(parameters[_EFFORT[kind]])

    def set_effort(self, effort: int) -> None:
        """Set nprobe, efSearch or nflip; only before the structure is shared with other threads."""
        self.parameters = self.parameters | {_EFFORT[self.kind]: effort}
        setattr(self.index.hnsw if self.kind == "hnsw" else self.index, _EFFORT[self.kind], effort)

    def without(self, kept: Bools) -> Approximate:
        """Return the same structure for a snapshot that keeps only the marked rows of the current one."""
        moved = np.where(kept, np.cumsum(kept) - 1, -1)
        before = np.arange(self.n_built) if self.positions is None else self.positions
        twin = Approximate(self.kind, self.index, self.parameters)
        twin.positions = np.where(before >= 0, moved[np.maximum(before, 0)], -1)
        twin.n_covered = int((twin.positions >= 0).sum())
        return twin

    def nearest(self, queries: Codes, k: int) -> tuple[Ints, Ints]:
        """Distances and positions of ``k`` near rows by (distance, position); position -1 if fewer were found."""
        asked = min(self.n_built, k + min(self.n_built - self.n_covered, k + 32))
        distances, found = self.index.search(queries, asked)
        if self.positions is not None:
            found = np.where(found >= 0, self.positions[np.maximum(found, 0)], -1)
        return smallest(distances.astype(np.int64), found, k)

    def search(
        self,
        signs: Codes,
        projections: Floats | None,
        codes: Codes,
        k: int,
        candidates: int,
        check: Callable[[], None],
    ) -> tuple[Array, Ints]:
        """Search a snapshot by Hamming distance; with projections, order ``candidates`` by asymmetric distance."""
        if projections is None:
            return self._nearest_of_all(signs, codes, k, check)
        _, found = self._nearest_of_all(signs, codes, min(candidates, self.n_covered), check)
        return order_asymmetric(projections, codes, found, k, check)

    def _nearest_of_all(
        self, queries: Codes, codes: Codes, k: int, check: Callable[[], None]
    ) -> tuple[Distances, Ints]:
        """Search the structure; exact for rows added later, and for queries with too few answers."""
        distances, positions = in_blocks(lambda some: self.nearest(some, k), queries, block_length(len(codes)), check)
        tail = codes[self.n_covered :]
        if len(tail):
            tail_distances, tail_positions = nearest(queries, tail, k, check)
            positions = np.hstack([positions, tail_positions + self.n_covered])
            distances, positions = smallest(np.hstack([distances, tail_distances]), positions, k)
        failed = (positions < 0).any(axis=1)
        if failed.any():
            distances[failed], positions[failed] = nearest(np.ascontiguousarray(queries[failed]), codes, k, check)
        return distances.astype(np.int32), positions


def smallest(distances: Ints, positions: Ints, k: int) -> tuple[Ints, Ints]:
    """Order each row by (distance, position) and keep ``k``; entries with position -1 come last."""
    # Both in one sortable number: distances are below 2^23, positions below 2^40.
    last = np.iinfo(np.int64).max
    keys = np.sort(np.where(positions >= 0, distances << 40 | positions, last), axis=1)[:, :k]
    missing = keys == last
    return np.where(missing, -1, keys >> 40), np.where(missing, -1, keys & (2**40 - 1))


def build(kind: str, codes: Codes, seed: int) -> Approximate:
    """Build one kind over ``codes``, with parameters by their number; the same seed gives the same structure."""
    if kind not in KINDS:
        raise ValueError(f"kinds={kind!r} must be among {', '.join(KINDS)}.")
    faiss = faiss_module()
    n, d = len(codes), 8 * codes.shape[1]
    chosen = _default_parameters(kind, n, d)
    if kind == "ivf":
        quantizer = faiss.IndexBinaryFlat(d)
        index = faiss.IndexBinaryIVF(quantizer, d, chosen["nlist"])
        index.own_fields = True
        quantizer.this.disown()
        index.cp.seed = seed
        index.cp.min_points_per_centroid = 1  # or faiss prints a warning about few rows
        sample = np.random.RandomState(seed).permutation(n)[: 64 * chosen["nlist"]]
        index.train(codes[np.sort(sample)])
    elif kind == "hnsw":
        index = faiss.IndexBinaryHNSW(d, chosen["M"])
        index.hnsw.efConstruction = chosen["efConstruction"]
    else:
        index = faiss.IndexBinaryMultiHash(d, chosen["nhash"], chosen["b"])
    n_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # with several threads, the graph depends on their timing
    try:
        index.add(codes)
    finally:
        faiss.omp_set_num_threads(n_threads)
    return Approximate(kind, index, chosen)


def _default_parameters(kind: str, n: int, d: int) -> dict[str, int]:
    if kind == "ivf":
        return {"nlist": 2 ** round(np.log2(max(2.0, np.sqrt(n)))), "nprobe": 1}
    if kind == "hnsw":
        return {"M": 16, "efConstruction": 40, "efSearch": 16}
    # Keys of about log2(n) - 4 bits put a handful of codes into each bucket.
    bits = int(np.clip(round(np.log2(max(2, n))) - 4, 1, min(d, 30)))
    return {"nhash": max(1, min(8, d // bits)), "b": bits, "nflip": 0}


@dataclass(frozen=True)
class KindReport:
    """One kind: its parameters, recall on held-out queries (the lower of both orders), milliseconds of a query in
    Hamming order, time to build, and a remark.
    """

    kind: str
    parameters: dict[str, int]
    recall: float
    milliseconds: float
    build_seconds: float
    note: str = ""

    def __str__(self) -> str:
        details = "  ".join([*(f"{name}={value}" for name, value in self.parameters.items()), self.note])
        return (
            f"  {self.kind:<10} recall {self.recall:.4f}  {self.milliseconds:8.3f} ms per query  "
            f"built in {self.build_seconds:.1f} s  {details}".rstrip()
        )


@dataclass(frozen=True)
class TuneReport:
    """Result of tuning. ``kind`` is the choice, ``reached`` its recall on queries not used for tuning.

    A search by asymmetric distance orders ``candidates`` items that were found by Hamming distance.

    >>> print(TuneReport("exact", 0.99, 1.0, 10, 3, (KindReport("exact", {}, 1.0, 0.5, 0.0),)))
    exact for recall 0.99 at k=10 over 3 codes; reached 1.0000
      exact      recall 1.0000     0.500 ms per query  built in 0.0 s
    """

    kind: str
    target: float
    reached: float
    k: int
    n: int
    kinds: tuple[KindReport, ...]
    candidates: int = 0

    def __str__(self) -> str:
        title = f"{self.kind} for recall {self.target:g} at k={self.k} over {self.n} codes; reached {self.reached:.4f}"
        return "\n".join([title, *map(str, self.kinds)])


def tune(
    codes: Codes, target: float, k: int, queries: Queries | None, kinds: Sequence[str] | None, random_state: int
) -> tuple[Approximate | None, TuneReport]:
    """Return the fastest kind that reaches ``target`` (None for exact search), and the report."""
    trial = _Trial(codes, k, queries, target, np.random.RandomState(random_state))
    rows = [KindReport("exact", {}, 1.0, trial.exact_milliseconds, 0.0)]
    best, best_row = None, rows[0]
    if kinds is None:
        kinds = [] if len(codes) < _SMALL else [k for k in KINDS if k != "hnsw" or len(codes) <= _HNSW_LIMIT]
    for kind in kinds if target < 1 and trial.possible else ():
        start = time.perf_counter()
        candidate = build(kind, codes, random_state)
        row = _climb(candidate, trial, target, time.perf_counter() - start)
        rows.append(row)
        limit = best_row.milliseconds * (1 - _WORTH if best is None else 1)
        if row.recall >= target and row.milliseconds < limit:
            best, best_row = candidate, row
    return best, TuneReport(best_row.kind, target, best_row.recall, k, len(codes), tuple(rows), trial.candidates)


class _Trial:
    """Queries with their true answers in both orders: one half to tune on, the other to measure on."""

    def __init__(
        self, codes: Codes, k: int, queries: Queries | None, target: float, rng: np.random.RandomState
    ) -> None:
        self.codes, self.k, self.candidates = codes, k, k
        self.own: Ints | None = None
        if queries is None:
            self.own = np.sort(rng.permutation(len(codes))[: 2 * _N_QUERIES])
            queries = codes[self.own], None
        self.queries, given = queries
        signs = unpack_signs(self.queries, 8 * codes.shape[1])
        self.projections: Floats = np.abs(rng.standard_normal(signs.shape)) * signs if given is None else given
        # Needs an item to leave out, k neighbours, and two halves of queries.
        self.possible = len(codes) > k + 1 and len(self.queries) >= 2
        asked = k + (self.own is not None)
        self.exact_milliseconds, (distances, positions) = _timed(
            lambda: nearest(self.queries, codes, asked), self.queries
        )
        if self.possible:
            self.kth = self._leave_out(distances, positions, slice(None))[0][:, -1:]
            truth = nearest_asymmetric(self.projections, codes, asked)
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
        asked = self.k + (self.own is not None)
        milliseconds, (distances, positions) = _timed(lambda: candidate.nearest(queries, asked), queries)
        distances, positions = self._leave_out(distances, positions, half)
        hits = (positions >= 0) & (distances <= self.kth[half])
        _, found = candidate.nearest(queries, self.candidates)
        return np.stack([hits.mean(axis=1), self._finer(found, half)]), milliseconds

    def _finer(self, found: Ints, half: slice) -> Floats:
        """Recall of each query of a half, if the rows found are ordered by asymmetric distance."""
        asked = self.k + (self.own is not None)
        ordered = order_asymmetric(self.projections[half], self.codes, found, asked)
        distances, _ = self._leave_out(*ordered, half)
        return np.asarray((distances <= self.finer_kth[half]).sum(axis=1) / self.k)

    def _leave_out(self, distances: Array, positions: Ints, half: slice) -> tuple[Array, Ints]:
        if self.own is None:
            return distances, positions
        itself = positions == self.own[half][:, None]
        # A query that did not find itself loses its last answer, so that all have k.
        itself[:, -1] |= ~itself.any(axis=1)
        shape = (len(positions), positions.shape[1] - 1)
        return distances[~itself].reshape(shape), positions[~itself].reshape(shape)


def _climb(candidate: Approximate, trial: _Trial, target: float, build_seconds: float) -> KindReport:
    """Raise the effort until both halves reach the target or exact search is faster; report the held-out half."""
    note = ""
    for effort in _efforts(candidate, trial.k):
        candidate.set_effort(effort)
        tuned, milliseconds = trial.recall_and_time(candidate, slice(0, None, 2))
        # Ask for one standard error more, because the sample is small. If the held-out half still falls short, this
        # half was lucky: a little more effort is cheaper than an exact search.
        if (tuned.mean(axis=1) - tuned.std(axis=1) / np.sqrt(tuned.shape[1])).min() >= target:
            held_out, _ = trial.recall_and_time(candidate, slice(1, None, 2))
            if held_out.mean(axis=1).min() >= target:
                break
        if milliseconds > trial.exact_milliseconds:
            note = "slower than exact before reaching the target"
            break
    held_out, milliseconds = trial.recall_and_time(candidate, slice(1, None, 2))
    recall, build_seconds = float(held_out.mean(axis=1).min()), round(build_seconds, 3)
    return KindReport(candidate.kind, candidate.parameters, recall, milliseconds, build_seconds, note)


def _efforts(candidate: Approximate, k: int) -> Iterator[int]:
    if candidate.kind == "multihash":
        yield from range(min(4, candidate.parameters["b"] + 1))
        return
    effort, last = (1, candidate.parameters["nlist"]) if candidate.kind == "ivf" else (max(16, k), 4096)
    while effort < last:
        yield effort
        effort = effort + max(1, effort // 2)
    yield last


def _timed(search: Callable[[], T], queries: Codes) -> tuple[float, T]:
    """Milliseconds per query in the faster of two runs, and the answer."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        answer = search()
        seconds.append(time.perf_counter() - start)
    return min(seconds) * 1e3 / max(1, len(queries)), answer
