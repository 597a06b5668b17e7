"""Searching a snapshot of codes, exactly or with a tuned kind. The half of HammingIndex that readers use."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from thpi.codes import Codes, check_codes
from thpi.index._exact import nearest, within
from thpi.index._kinds import Approximate, build, smallest
from thpi.index._neighbours import Neighbours, check_k, check_radius
from thpi.index._rows import Rows

if TYPE_CHECKING:
    from thpi.index._tune import TuneReport

__all__ = ["Searching", "State"]


class State(NamedTuple):
    """What a search reads: taken once, it stays as it is whatever the writer does."""

    rows: Rows
    approximate: Approximate | None = None
    report: TuneReport | None = None
    n_removals: int = 0


class Searching:
    """Search over the current state; a subclass makes new states, holding ``_writing``."""

    def __init__(self, n_bits: int, recall: float | None, random_state: int) -> None:
        self.n_bits, self.recall, self.random_state = n_bits, recall, random_state
        self._state = State(Rows.empty(n_bits))
        self._writing = threading.RLock()
        self._tuning = threading.Lock()

    @property
    def report_(self) -> TuneReport | None:
        """What tuning measured; None before, and for an index without ``recall``."""
        return self._state.report

    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours:
        """Give the ``k`` nearest items of each query code, by (distance, insertion); all where there are fewer."""
        queries, k = check_codes(codes, n_bits=self.n_bits), check_k(k)
        state = self._state
        if self.recall is not None and self.recall < 1 and len(queries) and len(state.rows):
            state = self._tuned_for(state, k)
        k = min(k, len(state.rows))
        if state.approximate is None or state.report is None or k > state.report.k or k > state.approximate.n_covered:
            distances, positions = nearest(queries, state.rows.codes, k)
        else:
            distances, positions = _approximate_nearest(queries, state.rows.codes, state.approximate, k)
        return Neighbours(distances, state.rows.ids[positions])

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Give all items at distance <= ``radius`` of each query code, by (distance, insertion). Always exact."""
        queries = check_codes(codes, n_bits=self.n_bits)
        rows = self._state.rows
        found = within(queries, rows.codes, check_radius(radius))
        return [Neighbours(distances, rows.ids[positions]) for distances, positions in found]

    def tune(
        self, k: int = 10, *, queries: npt.ArrayLike | None = None, kinds: Sequence[str] | None = None
    ) -> TuneReport:
        """Choose and tune a kind for searches of up to ``k`` items, and return the report (also ``report_``).

        The first search does this by itself, and again once the index has doubled or lost a tenth of its codes;
        calling it chooses the moment. A search for more than ``k`` items is exact. ``queries`` are codes to
        measure with, where those of the index are not like the ones that will come. ``kinds`` are those of
        "ivf", "hnsw" and "multihash" to try; by default all, but "hnsw" only up to 250,000 codes, because
        building it takes minutes a million codes.
        """
        if self.recall is None:
            raise ValueError("this index is exact; HammingIndex(n_bits, recall=...) is one that can be tuned.")
        given = None if queries is None else check_codes(queries, n_bits=self.n_bits, name="queries")
        with self._tuning:
            return self._tune(check_k(k), given, kinds)

    def _tune(self, k: int, queries: Codes | None = None, kinds: Sequence[str] | None = None) -> TuneReport:
        from thpi.index._tune import tune

        assert self.recall is not None
        state = self._state
        approximate, report = tune(
            state.rows.codes, self.recall, k, queries=queries, kinds=kinds, random_state=self.random_state
        )
        self._publish(state, approximate, report)
        return report

    def _publish(self, basis: State, approximate: Approximate | None, report: TuneReport) -> None:
        with self._writing:
            # Rows added meanwhile stand behind the structure; after a removal it no longer fits and is built anew.
            fits = self._state.n_removals == basis.n_removals
            self._state = self._state._replace(approximate=approximate if fits else None, report=report)

    def _tuned_for(self, state: State, k: int) -> State:
        """Tune where that is due; while another thread does, go on with what there is."""
        report, built = state.report, state.approximate
        due = report is None or _outgrown(report, built, len(state.rows))
        unbuilt = report is not None and report.kind != "exact" and built is None
        if (due or unbuilt) and self._tuning.acquire(blocking=False):
            try:
                if due or report is None:
                    self._tune(max(k, 10 if report is None else report.k))
                else:  # opened from a file that tells the choice: build it, nothing to measure again
                    rebuilt = build(report.kind, state.rows.codes, self.random_state, report.chosen.parameters)
                    self._publish(state, rebuilt, report)
            finally:
                self._tuning.release()
        return self._state


def _outgrown(report: TuneReport, built: Approximate | None, n: int) -> bool:
    if built is not None and built.n_covered < 0.9 * built.n_built:
        return True
    return n > 2 * report.n or n < 0.9 * report.n


def _approximate_nearest(
    queries: Codes, codes: Codes, approximate: Approximate, k: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Search the structure, and exactly the rows added after it was built; a query it fails on, exactly."""
    distances, positions = approximate.nearest(queries, k)
    tail = codes[approximate.n_covered :]
    if len(tail):
        tail_distances, tail_positions = nearest(queries, tail, k)
        distances, positions = smallest(
            np.hstack([distances, tail_distances]), np.hstack([positions, tail_positions + approximate.n_covered]), k
        )
    failed = (positions < 0).any(axis=1)
    if failed.any():
        distances[failed], positions[failed] = nearest(np.ascontiguousarray(queries[failed]), codes, k)
    return distances.astype(np.int32), positions
