"""Choosing an approximate kind: built on the stored codes, tuned on sampled queries, measured on others.

Recall at k counts the returned items that are as near as the true k-th neighbour:

    recall = (number of returned items with distance <= distance of the true k-th) / (n_queries k)

so which of several items at the k-th distance is returned makes no difference. Sampled queries are stored codes;
the item itself is left out of the answer and of the truth, for finding it is no merit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi.codes import Codes
from thpi.index._exact import nearest
from thpi.index._kinds import KINDS, Approximate, build

__all__ = ["KindReport", "TuneReport", "tune"]

_N_QUERIES = 256
# Below this many codes a flat scan takes well under a tenth of a millisecond.
_SMALL = 10_000
# Building the graph takes minutes a million codes: beyond this only where it is asked for.
_HNSW_LIMIT = 250_000
# Exact search stays where another kind saves less than this part of its time.
_WORTH = 0.1


@dataclass(frozen=True)
class KindReport:
    """One kind: its parameters, recall on held-out queries, time a query, time to build; ``note`` says what else."""

    kind: str
    parameters: dict[str, int]
    recall: float
    milliseconds: float
    build_seconds: float
    note: str = ""


@dataclass(frozen=True)
class TuneReport:
    """What tuning found. ``kind`` is the choice, ``reached`` its recall on queries that tuning did not use.

    >>> print(TuneReport("exact", 0.99, 1.0, 10, 3, (KindReport("exact", {}, 1.0, 0.5, 0.0),)))
    exact for recall 0.99 at k=10 over 3 codes; reached 1.0000
      exact      recall 1.0000     0.500 ms a query  built in 0.0 s
    """

    kind: str
    target: float
    reached: float
    k: int
    n: int
    kinds: tuple[KindReport, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.kind} for recall {self.target:g} at k={self.k} over {self.n} codes; reached {self.reached:.4f}"
        ]
        for row in self.kinds:
            details = "  ".join([*(f"{name}={value}" for name, value in row.parameters.items()), row.note])
            lines.append(
                f"  {row.kind:<10} recall {row.recall:.4f}  {row.milliseconds:8.3f} ms a query  "
                f"built in {row.build_seconds:.1f} s  {details}".rstrip()
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give plain dicts and lists, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> TuneReport:
        """Rebuild a report from :meth:`to_dict`."""
        kinds = tuple(KindReport(**row) for row in plain["kinds"])
        return cls(**{**plain, "kinds": kinds})

    @property
    def chosen(self) -> KindReport:
        """The row of the choice."""
        return next(row for row in self.kinds if row.kind == self.kind)


def tune(
    codes: Codes,
    target: float,
    k: int,
    *,
    queries: Codes | None = None,
    kinds: Sequence[str] | None = None,
    random_state: int = 0,
) -> tuple[Approximate | None, TuneReport]:
    """Give the fastest kind that reaches ``target``, None where that is exact search, and the report."""
    trial = _Trial(codes, k, queries, np.random.RandomState(random_state))
    rows = [KindReport("exact", {}, 1.0, trial.exact_milliseconds, 0.0)]
    best: Approximate | None = None
    best_row = rows[0]
    if kinds is None:
        kinds = [] if len(codes) < _SMALL else [k for k in KINDS if k != "hnsw" or len(codes) <= _HNSW_LIMIT]
    for kind in kinds if target < 1 and trial.possible else ():
        start = time.perf_counter()
        candidate = build(kind, codes, random_state)
        build_seconds = time.perf_counter() - start
        row = _climb(candidate, trial, target, build_seconds)
        rows.append(row)
        limit = best_row.milliseconds * (1 - _WORTH if best is None else 1)
        if row.recall >= target and row.milliseconds < limit:
            best, best_row = candidate, row
    return best, TuneReport(best_row.kind, target, best_row.recall, k, len(codes), tuple(rows))


class _Trial:
    """Queries with their true answers: the first half to tune on, the second to measure on."""

    def __init__(self, codes: Codes, k: int, queries: Codes | None, rng: np.random.RandomState) -> None:
        self.k = k
        self.own: npt.NDArray[np.int64] | None = None
        if queries is None:
            self.own = np.sort(rng.permutation(len(codes))[: 2 * _N_QUERIES])
            queries = codes[self.own]
        self.queries = queries
        # An item to leave out, k neighbours, and two halves of queries.
        self.possible = len(codes) > k + 1 and len(queries) >= 2
        asked = k + (self.own is not None)
        self.exact_milliseconds, (distances, positions) = _timed(lambda: nearest(self.queries, codes, asked), queries)
        if self.possible:
            distances, _ = self._leave_out(distances.astype(np.int64), positions, slice(None))
            self.kth = distances[:, -1:]

    @property
    def halves(self) -> tuple[slice, slice]:
        return slice(0, None, 2), slice(1, None, 2)

    def recall_and_time(self, candidate: Approximate, half: slice) -> tuple[npt.NDArray[np.float64], float]:
        """Recall of each query of a half, and milliseconds a query."""
        queries = np.ascontiguousarray(self.queries[half])
        asked = self.k + (self.own is not None)
        milliseconds, (distances, positions) = _timed(lambda: candidate.nearest(queries, asked), queries)
        distances, positions = self._leave_out(distances, positions, half)
        hits = (positions >= 0) & (distances <= self.kth[half])
        recalls: npt.NDArray[np.float64] = hits.mean(axis=1)
        return recalls, milliseconds

    def _leave_out(
        self, distances: npt.NDArray[np.int64], positions: npt.NDArray[np.int64], half: slice
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        if self.own is None:
            return distances, positions
        itself = positions == self.own[half][:, None]
        # A query that did not find itself loses its last answer, so that all keep k.
        itself[:, -1] |= ~itself.any(axis=1)
        shape = (len(positions), positions.shape[1] - 1)
        return distances[~itself].reshape(shape), positions[~itself].reshape(shape)


def _climb(candidate: Approximate, trial: _Trial, target: float, build_seconds: float) -> KindReport:
    """Raise the effort until the tuning half reaches the target or is slower than exact search; measure the other."""
    tuning, held_out = trial.halves
    note = ""
    for effort in _efforts(candidate, trial.k):
        candidate.set_effort(effort)
        recalls, milliseconds = trial.recall_and_time(candidate, tuning)
        # One standard error of caution, because the sample is small.
        if recalls.mean() - recalls.std() / np.sqrt(len(recalls)) >= target:
            break
        if milliseconds > trial.exact_milliseconds:
            note = "slower than exact before reaching the target"
            break
    recalls, milliseconds = trial.recall_and_time(candidate, held_out)
    return KindReport(
        candidate.kind, candidate.described, float(recalls.mean()), milliseconds, round(build_seconds, 3), note
    )


def _efforts(candidate: Approximate, k: int) -> Iterator[int]:
    if candidate.kind == "multihash":
        yield from range(min(4, candidate.parameters["b"] + 1))
        return
    effort, last = (1, candidate.parameters["nlist"]) if candidate.kind == "ivf" else (max(16, k), 4096)
    while effort < last:
        yield effort
        effort = effort + max(1, effort // 2)
    yield last


def _timed(search: Callable[[], Any], queries: Codes) -> tuple[float, Any]:
    """Milliseconds a query, the better of two runs, and the answer."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        answer = search()
        seconds.append(time.perf_counter() - start)
    return min(seconds) * 1e3 / max(1, len(queries)), answer
