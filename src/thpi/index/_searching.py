"""The part of HammingIndex that readers use: exact or approximate search in a snapshot of codes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Bools, Codes, Distances, Floats, Ints
from thpi.codes import check_codes, n_bytes
from thpi.index._asymmetric import Order, Queries, nearest_asymmetric, order_asymmetric, read_queries
from thpi.index._exact import block_length, in_blocks, nearest, no_check, within
from thpi.index._ids import Neighbours, check_integer
from thpi.index._tune import Approximate, TuneReport, build, smallest, tune
from thpi.kernels import available

_WORTH_KERNELS = 2**15  # bytes of codes


class Snapshot:
    """Codes and ids in insertion order. Immutable, so any thread may read it without a lock.

    ``append`` writes into spare room behind the rows and returns a new snapshot that includes them; only the newest
    snapshot may be appended to. The room doubles when it is full, so adding n rows one by one copies O(n) rows.
    """

    def __init__(self, codes: Codes, ids: Array, length: int) -> None:
        self._codes_room, self._ids_room = codes, ids
        self.codes, self.ids = codes[:length], ids[:length]
        for shown in (self.codes, self.ids):
            shown.flags.writeable = False

    def __len__(self) -> int:
        return len(self.codes)

    def append(self, codes: Codes, ids: Array) -> Snapshot:
        start, stop = len(self), len(self) + len(codes)
        codes_room, ids_room = self._codes_room, self._ids_room
        if stop > len(codes_room) or ids_room.dtype != ids.dtype:
            room = max(stop, 2 * start)
            codes_room = np.empty((room, self.codes.shape[1]), dtype=np.uint8)
            ids_room = np.empty(room, dtype=ids.dtype)
            codes_room[:start], ids_room[:start] = self.codes, self.ids
        codes_room[start:stop], ids_room[start:stop] = codes, ids
        return Snapshot(codes_room, ids_room, stop)

    def keep(self, kept: Bools) -> Snapshot:
        return Snapshot(self.codes[kept], self.ids[kept], int(kept.sum()))


class State(NamedTuple):
    """What a search reads, in one step; writers replace it."""

    rows: Snapshot
    approximate: Approximate | None = None
    report: TuneReport | None = None
    n_removals: int = 0

    def nearest(
        self, signs: Codes, projections: Floats | None, k: int, check: Callable[[], None]
    ) -> tuple[Array, Ints]:
        """Distances and positions of the ``k`` nearest rows, by Hamming distance if there are no projections."""
        codes, report, built = self.rows.codes, self.report, self.approximate
        if report is not None and built is not None and k <= min(report.k, built.n_covered):
            if projections is None:
                return _approximate_nearest(signs, codes, built, k, check)
            if report.candidates:  # else it is a report of an earlier version
                candidates = min(report.candidates, built.n_covered)
                _, found = _approximate_nearest(signs, codes, built, candidates, check)
                return order_asymmetric(projections, codes, found, k, check)
        if projections is None:
            return nearest(signs, codes, k, check)
        return nearest_asymmetric(projections, codes, k, check)


class Searching:
    """Search over the current state; a subclass makes new states, holding ``_writing``."""

    def __init__(self, n_bits: int, recall: float | None, random_state: int) -> None:
        self.n_bits, self.recall, self.random_state = n_bits, recall, random_state
        self._state = State(Snapshot(np.empty((0, n_bytes(n_bits)), dtype=np.uint8), np.empty(0, dtype=np.int64), 0))
        self._writing, self._tuning = threading.RLock(), threading.Lock()

    @property
    def report_(self) -> TuneReport | None:
        """Result of tuning; None before it, and for an index without ``recall``."""
        return self._state.report

    def search(
        self,
        queries: npt.ArrayLike,
        k: int = 10,
        *,
        order: Order | None = None,
        check: Callable[[], None] | None = None,
    ) -> Neighbours:
        """Return the ``k`` nearest items of each query, or all if there are fewer, by (distance, insertion).

        Queries are projections (``hasher.decision_function(X)``, floating-point numbers) or packed codes (integers).
        Projections are searched by asymmetric distance (:func:`asymmetric_distances`), codes by Hamming distance;
        ``order="hamming"`` searches by the signs of projections. ``check`` is called before each block of queries, in
        the calling thread; an exception that it raises ends the search.
        """
        signs, projections = read_queries(queries, order, self.n_bits)
        k, state = check_integer("k", k, 1), self._state
        if self.recall is not None and self.recall < 1 and len(signs) and len(state.rows):
            state = self._tuned_for(state, k)
        k = min(k, len(state.rows))
        distances, positions = state.nearest(signs, projections, k, check or no_check)
        return Neighbours(distances, state.rows.ids[positions])

    def warm_up(self) -> None:
        """Do now what the first searches would do: tune or build an approximate structure, and load compiled kernels.

        For a process that searches often, or that forks others, which then share the structure. Kernels are loaded if
        there are any and the index is not small.
        """
        codes = self._state.rows.codes
        if self.recall is not None and self.recall < 1 and len(codes):
            self._tuned_for(self._state, 10)
        if codes.size >= _WORTH_KERNELS and available():
            import_module("thpi.kernels.nearest")  # from now on they are used
            nearest(codes[:1], codes[:256], 1)
            nearest_asymmetric(np.ones((1, self.n_bits)), codes[:256], 1)

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Return all items at distance <= ``radius`` of each query code, by (distance, insertion). Always exact."""
        queries, rows = check_codes(codes, n_bits=self.n_bits), self._state.rows
        found = within(queries, rows.codes, check_integer("radius", radius, 0))
        return [Neighbours(distances, rows.ids[positions]) for distances, positions in found]

    def tune(
        self, k: int = 10, *, queries: npt.ArrayLike | None = None, kinds: Sequence[str] | None = None
    ) -> TuneReport:
        """Choose and tune a structure for searches of up to ``k`` items, and return the report (also ``report_``).

        The first search does this automatically, and again once the index has doubled or lost a tenth of its codes;
        call it to choose the time. A search for more than ``k`` items is exact. Pass ``queries`` to measure with, codes
        or better projections, if future queries differ from the stored codes. ``kinds`` are those of "ivf", "hnsw" and
        "multihash" to try; by default all, but "hnsw" only up to 250,000 codes, because building it takes minutes per
        million codes.
        """
        if self.recall is None:
            raise ValueError("this index is exact; only HammingIndex(n_bits, recall=...) can be tuned.")
        given = None if queries is None else read_queries(queries, None, self.n_bits)
        with self._tuning:
            return self._tune(check_integer("k", k, 1), given, kinds)

    def _tune(self, k: int, queries: Queries | None = None, kinds: Sequence[str] | None = None) -> TuneReport:
        assert self.recall is not None
        state = self._state
        approximate, report = tune(state.rows.codes, self.recall, k, queries, kinds, self.random_state)
        self._publish(state, approximate, report)
        return report

    def _publish(self, basis: State, approximate: Approximate | None, report: TuneReport) -> None:
        with self._writing:
            # Rows added meanwhile come after the structure; after a removal it no longer fits and is rebuilt.
            fits = self._state.n_removals == basis.n_removals
            self._state = self._state._replace(approximate=approximate if fits else None, report=report)

    def _tuned_for(self, state: State, k: int) -> State:
        """Tune if due; while another thread is tuning, use the current state."""
        if any(_due(state)) and not self._tuning.locked():
            # Two threads may get here at once; the second one then finds the work done. An attempt to acquire would
            # not wait, but Ctrl-C right behind it would leave the lock closed for good.
            with self._tuning:
                state = self._state
                due, unbuilt = _due(state)
                if due or state.report is None:
                    self._tune(max(k, 10 if state.report is None else state.report.k))
                elif unbuilt:  # opened from a file that has the report: build the chosen kind without measuring again
                    report = state.report
                    rebuilt = build(report.kind, state.rows.codes, self.random_state, report.chosen.parameters)
                    self._publish(state, rebuilt, report)
        return self._state


def _due(state: State) -> tuple[bool, bool]:
    """Whether to tune anew, and whether only the chosen structure is missing."""
    report, built = state.report, state.approximate
    worn = built is not None and built.n_covered < 0.9 * built.n_built
    due = report is None or worn or not 0.9 * report.n <= len(state.rows) <= 2 * report.n
    return due, report is not None and report.kind != "exact" and built is None


def _approximate_nearest(
    queries: Codes, codes: Codes, approximate: Approximate, k: int, check: Callable[[], None]
) -> tuple[Distances, Ints]:
    """Search the structure; exact for rows added later, and for queries with too few answers."""
    block = block_length(len(codes))
    distances, positions = in_blocks(lambda some: approximate.nearest(some, k), queries, block, check)
    tail = codes[approximate.n_covered :]
    if len(tail):
        tail_distances, tail_positions = nearest(queries, tail, k, check)
        positions = np.hstack([positions, tail_positions + approximate.n_covered])
        distances, positions = smallest(np.hstack([distances, tail_distances]), positions, k)
    failed = (positions < 0).any(axis=1)
    if failed.any():
        distances[failed], positions[failed] = nearest(np.ascontiguousarray(queries[failed]), codes, k, check)
    return distances.astype(np.int32), positions
