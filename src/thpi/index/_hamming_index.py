"""HammingIndex: codes with ids in memory, searched exactly or approximately."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Bools, Codes, Ints, PathLike
from thpi.codes import check_codes, n_bytes
from thpi.identity import check_fingerprint
from thpi.index._ids import IdKind, IdPositions, IdsLike, Neighbours, check_ids, id_kind, number_on
from thpi.index._queries import FEW, Order, Queries, check_integer, nearest_of_few, no_check, read_queries

if TYPE_CHECKING:
    from thpi.index._tune import Approximate, TuneReport

_WORTH_KERNELS = 2**15  # bytes of codes


class State:
    """What a search reads: codes and ids in insertion order, and inverted lists if there are any; writers replace it.

    It does not change, so any thread may read it without a lock. ``append`` writes into spare room behind the rows and
    returns a new state that includes them; only the newest one may be appended to. Full room grows by an eighth, so
    adding n rows one by one copies O(n) rows.
    """

    lists: Approximate | None
    report: TuneReport | None

    def __init__(self, codes: Codes, ids: Array, length: int, before: State | None = None) -> None:
        self._codes_room, self._ids_room = codes, ids
        self.codes, self.ids = codes[:length], ids[:length]
        for shown in (self.codes, self.ids):
            shown.flags.writeable = False
        self.lists = None if before is None else before.lists
        self.report = None if before is None else before.report
        self.n_removals: int = 0 if before is None else before.n_removals

    def __len__(self) -> int:
        return len(self.codes)

    def append(self, codes: Sequence[Codes], ids: Sequence[Array]) -> State:
        start, stop = len(self), len(self) + sum(map(len, codes))
        codes_room, ids_room = self._codes_room, self._ids_room
        if stop > len(codes_room) or ids_room.dtype != ids[0].dtype:
            room = stop + stop // 8
            codes_room = np.empty((room, self.codes.shape[1]), dtype=np.uint8)
            ids_room = np.empty(room, dtype=ids[0].dtype)
            codes_room[:start], ids_room[:start] = self.codes, self.ids
        np.concatenate(codes, out=codes_room[start:stop])
        np.concatenate(ids, out=ids_room[start:stop])
        return State(codes_room, ids_room, stop, self)

    def keep(self, kept: Bools) -> State:
        state = State(self.codes[kept], self.ids[kept], int(kept.sum()), self)
        state.lists, state.n_removals = self.lists and self.lists.without(kept), self.n_removals + 1
        return state

    def tuned(self, lists: Approximate | None, report: TuneReport) -> State:
        state = State(self._codes_room, self._ids_room, len(self), self)
        state.lists, state.report = lists, report
        return state


class HammingIndex:
    """Codes of ``n_bits`` bits with ids, in memory, searched by Hamming distance.

    Results are ordered by (distance, insertion). The search is exact unless ``recall`` is given. With ``recall``, the
    first search builds inverted lists and keeps them if they reach this recall in less time than exact search;
    ``report_`` has the measurements. Any number of threads may search while one adds or removes.

    A collection (:func:`thpi.build`) is an index whose changes are on disk at once.

    Parameters
    ----------
    n_bits : bits of a code.
    recall : in (0, 1]; the share of the true k nearest items that a search should find.
    random_state : seed of sampling and building; only used with ``recall``.
    model : fingerprint of the model that makes the codes (``hasher.fingerprint_``), kept in the file; None if unknown.

    Examples
    --------
    >>> index = HammingIndex(8)
    >>> index.add(np.array([[0b0001], [0b0111], [0b0010]], dtype=np.uint8), ids=["a", "b", "c"])
    array(['a', 'b', 'c'], dtype=object)
    >>> index.search(np.array([[0]], dtype=np.uint8), k=2)
    Neighbours(distances=array([[1, 1]], dtype=int32), ids=array([['a', 'c']], dtype=object))
    """

    def __init__(
        self, n_bits: int, recall: float | None = None, *, random_state: int = 0, model: str | None = None
    ) -> None:
        self.n_bits = check_integer("n_bits", n_bits, 1)
        self.recall = _check_recall(recall)
        self.random_state = check_integer("random_state", random_state, 0, 2**31 - 1)
        self.model = check_fingerprint(model)
        self._state = State(np.empty((0, n_bytes(self.n_bits)), np.uint8), np.empty(0, np.int64), 0)
        self._positions: IdPositions | None = None  # of the ids in _state; None if they must be looked up anew
        self._writing, self._tuning = threading.RLock(), threading.Lock()

    def __len__(self) -> int:
        return len(self._state)

    def __iter__(self) -> Iterator[tuple[int | str, Codes]]:
        state = self._state
        return zip(state.ids.tolist(), state.codes, strict=True)

    def __contains__(self, item: object) -> bool:
        try:
            ids = check_ids([item])
        except ValueError:
            return False
        with self._writing:
            return bool(self._known().find(ids)[0] >= 0)

    def __repr__(self) -> str:
        return f"HammingIndex(n_bits={self.n_bits}, recall={self.recall}): {len(self)} codes"

    def _repr_html_(self) -> str:
        from thpi.report import render

        return render("notebook/index.html", index=self)

    @property
    def ids(self) -> Array:
        """All ids, in insertion order."""
        return self._state.ids

    @property
    def codes(self) -> Codes:
        """All codes, in insertion order."""
        return self._state.codes

    @property
    def id_kind(self) -> IdKind | None:
        """``"int64"`` or ``"string"``, None while the index is empty."""
        return id_kind(self.ids) if len(self) else None

    @property
    def report_(self) -> TuneReport | None:
        """Result of tuning; None before it, and for an index without ``recall``."""
        return self._state.report

    def get_codes(self, ids: IdsLike) -> Codes:
        """Return the codes of ``ids``; an unknown id is a ``KeyError`` that names it."""
        with self._writing:
            return self.codes[self._known().find_all(check_ids(ids, kind=self.id_kind))]

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
        if self._is_approximate and len(signs) and len(state):
            state = self._tuned_for(state, k)
        k, codes, report, lists = min(k, len(state)), state.codes, state.report, state.lists
        if report is not None and lists is not None and k <= min(report.k, lists.n_covered):
            found = lists.search(signs, projections, codes, k, report.candidates, check or no_check)
        elif len(signs) * len(codes) <= FEW and (projections is not None or "faiss" not in sys.modules):
            found = nearest_of_few(signs, projections, codes, k)
        else:
            from thpi.index._exact import nearest, nearest_asymmetric

            if projections is None:
                found = nearest(signs, codes, k, check or no_check)
            else:
                found = nearest_asymmetric(projections, codes, k, check or no_check)
        return Neighbours(found[0], state.ids[found[1]])

    def add(self, codes: npt.ArrayLike, ids: IdsLike | None = None) -> Array:
        """Add codes under new ids, and return the ids.

        Ids are 64-bit integers or strings, one kind per index; by default the codes are numbered on from the largest
        id, starting at 0. If anything is wrong, nothing is added.
        """
        packed = check_codes(codes, n_bits=self.n_bits)
        with self._writing:
            checked = number_on(self.ids, len(packed)) if ids is None else check_ids(ids, length=len(packed))
            if len(packed):
                self._known().check_new(checked, self.id_kind)
                self.extend([packed], [checked])
        return checked

    def extend(self, codes: Sequence[Codes], ids: Sequence[Array]) -> None:
        """Add blocks of codes under new ids; everything was checked before.

        >>> index = HammingIndex(8)
        >>> index.extend([np.array([[1], [2]], np.uint8)], [np.array([3, 7])])
        >>> index.ids
        array([3, 7])
        """
        with self._writing:
            known, self._positions = self._positions, None  # until both are changed: Ctrl-C may come in between
            if known is not None:
                known.append(np.concatenate(ids), len(self))
            self._state = self._state.append(codes, ids)
            self._positions = known

    def remove(self, ids: IdsLike) -> None:
        """Remove the codes of ``ids``; the rest keep their order. An unknown id is a ``KeyError``."""
        with self._writing:
            self.remove_at(self._known().find_all(check_ids(ids, kind=self.id_kind, unique=True)))

    def remove_at(self, positions: Ints) -> None:
        """Remove the codes at some positions."""
        with self._writing:
            if not len(positions):
                return
            kept = np.ones(len(self), dtype=np.bool_)
            kept[positions] = False
            self._positions = None
            self._state = self._state.keep(kept)

    def save(self, path: PathLike) -> None:
        """Write the index to ``path`` in one step: a kill at any moment leaves the old file or the new one."""
        from thpi._files import atomic_write
        from thpi.index._snapshot import encoded

        about = {"n_bits": self.n_bits, "recall": self.recall, "random_state": self.random_state, "model": self.model}
        state = self._state
        atomic_write(path, encoded(about, state.codes, state.ids))

    @classmethod
    def open(cls, path: PathLike) -> HammingIndex:
        """Read an index that :meth:`save` wrote. Inverted lists are built anew at the first search.

        Raises ``FileNotFoundError``, or ``IndexFileError`` if the file is truncated, altered or foreign.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "shop.index"
        ...     HammingIndex(16).save(path)
        ...     HammingIndex.open(path)
        HammingIndex(n_bits=16, recall=None): 0 codes
        """
        from thpi.index._snapshot import read, usable

        with open(path, "rb") as file, usable(path):
            about, codes, ids = read(file)
            more = {name: about[name] for name in ("random_state", "model")}
            index = cls(about["n_bits"], about["recall"], **more)
            index.add(codes, ids)
        return index

    def warm_up(self) -> None:
        """Do now what the first searches would do: tune inverted lists, and load compiled kernels.

        For a process that searches often, or that forks others, which then share the lists.
        """
        from thpi.index._exact import load_kernels

        if self._is_approximate and len(self):
            self._tuned_for(self._state, 10)
        if self.codes.size >= _WORTH_KERNELS:
            load_kernels(self.codes[:256], self.n_bits)

    def tune(self, k: int = 10, *, queries: npt.ArrayLike | None = None) -> TuneReport:
        """Tune inverted lists for searches of up to ``k`` items, and return the report (also ``report_``).

        The first search does this automatically, and again once the index has doubled or lost a tenth of its codes;
        call it to choose the time. A search for more than ``k`` items is exact. Pass ``queries`` to measure with, codes
        or better projections, if future queries differ from the stored codes.
        """
        if self.recall is None:
            raise ValueError("this index is exact; only HammingIndex(n_bits, recall=...) can be tuned.")
        given = None if queries is None else read_queries(queries, None, self.n_bits)
        with self._tuning:
            return self._tune(check_integer("k", k, 1), given)

    @property
    def _is_approximate(self) -> bool:
        return self.recall is not None and self.recall < 1

    def _known(self) -> IdPositions:
        """Return the positions of the ids; the caller holds ``_writing``."""
        if self._positions is None:
            self._positions = IdPositions(self.ids)
        return self._positions

    def _tune(self, k: int, queries: Queries | None = None) -> TuneReport:
        from thpi.index._tune import tune

        assert self.recall is not None
        basis = self._state
        lists, report = tune(basis.codes, self.recall, k, queries, self.random_state)
        with self._writing:
            # Rows added meanwhile come after the lists; after a removal these no longer fit and are built again.
            fits = self._state.n_removals == basis.n_removals
            self._state = self._state.tuned(lists if fits else None, report)
        return report

    def _tuned_for(self, state: State, k: int) -> State:
        """Tune if due; while another thread is tuning, use the current state."""
        if _due(state) and not self._tuning.locked():
            # Two threads may get here at once; the second one then finds the work done. An attempt to acquire would
            # not wait, but Ctrl-C right behind it would leave the lock closed for good.
            with self._tuning:
                state = self._state
                if _due(state):
                    self._tune(max(k, 10 if state.report is None else state.report.k))
        return self._state


def _check_recall(recall: object) -> float | None:
    share = float(recall) if isinstance(recall, Real) else None
    if recall is not None and (share is None or not 0 < share <= 1):
        raise ValueError(f"recall={recall!r} must be None (exact) or a number in (0, 1].")
    return share


def _due(state: State) -> bool:
    """Whether to tune: not done yet, the size is another, or the chosen structure is gone or has lost many rows."""
    report, lists = state.report, state.lists
    if report is None or not 0.9 * report.n <= len(state) <= 2 * report.n:
        return True
    return report.kind != "exact" and (lists is None or lists.n_covered < 0.9 * lists.n_built)
