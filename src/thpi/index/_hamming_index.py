"""HammingIndex: codes with ids, searched by Hamming distance."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Literal

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, Ints, PathLike
from thpi.codes import check_codes
from thpi.identity import check_fingerprint, check_same_model
from thpi.index._file import IndexFile
from thpi.index._follow import Follower
from thpi.index._format import Contents, Header, IndexFileError, Record
from thpi.index._ids import IdKind, IdPositions, IdsLike, check_ids, check_integer, id_kind, number_on
from thpi.index._searching import Searching
from thpi.index._tune import TuneReport


class HammingIndex(Searching):
    """Codes of ``n_bits`` bits with ids, searched by Hamming distance.

    Results are ordered by (distance, insertion). The search is exact unless ``recall`` is given. With ``recall``, the
    first search builds approximate structures and keeps the fastest one that reaches this recall, or exact search if
    none is faster; ``report_`` has the measurements. Any number of threads may search while one adds or removes.

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
        if recall is not None and (not isinstance(recall, Real) or not 0 < recall <= 1):
            raise ValueError(f"recall={recall!r} must be None (exact) or a number in (0, 1].")
        if not isinstance(random_state, Integral) or not 0 <= random_state < 2**31:
            raise ValueError(f"random_state={random_state!r} must be an integer in [0, 2**31).")
        n_bits = check_integer("n_bits", n_bits, 1)
        super().__init__(n_bits, None if recall is None else float(recall), int(random_state))
        self.model: str | None = check_fingerprint(model)
        self._positions: IdPositions = IdPositions(self._state.rows.ids)
        self._file: IndexFile | None = None  # of mode "a"
        self._follower: Follower | None = None  # of modes "r" and "shared"
        self._read_only: str | None = None
        self._wait: float = 0.0

    def __len__(self) -> int:
        return len(self._state.rows)

    def __iter__(self) -> Iterator[tuple[int | str, Codes]]:
        rows = self._state.rows
        return zip(rows.ids.tolist(), rows.codes, strict=True)

    def __contains__(self, item: object) -> bool:
        try:
            ids = check_ids([item])
        except ValueError:
            return False
        with self._writing:
            return bool(self._positions.find(ids)[0] >= 0)

    def __repr__(self) -> str:
        return f"HammingIndex(n_bits={self.n_bits}, recall={self.recall}): {len(self)} codes"

    @property
    def ids(self) -> Array:
        """All ids, in insertion order."""
        return self._state.rows.ids

    @property
    def codes(self) -> Codes:
        """All codes, in insertion order."""
        return self._state.rows.codes

    @property
    def id_kind(self) -> IdKind | None:
        """``"int64"`` or ``"string"``, None while the index is empty."""
        return id_kind(self.ids) if len(self) else None

    def get_codes(self, ids: IdsLike) -> Codes:
        """Return the codes of ``ids``; an unknown id is a ``KeyError`` that names it."""
        with self._writing:
            return self._state.rows.codes[self._positions.find_all(check_ids(ids, kind=self.id_kind))]

    def add(self, codes: npt.ArrayLike, ids: IdsLike | None = None) -> Array:
        """Add codes under new ids, and return the ids.

        Ids are 64-bit integers or strings, one kind per index; by default the codes are numbered on from the largest
        id, starting at 0. If anything is wrong, nothing is added. If the index was opened with mode ``"a"``, the codes
        are on disk when this returns.
        """
        packed = check_codes(codes, n_bits=self.n_bits)
        with self._changing() as shared, self._writing:
            file = shared or self._file
            if ids is None:
                checked = number_on(len(packed), self.id_kind, lambda: int(self.ids.max()) + 1)
            else:
                checked = check_ids(ids, length=len(packed))
            if len(packed) == 0:
                return checked
            self._positions.check_new(checked, self.id_kind)
            if file is not None:
                file.append(Record("a", checked, packed))
            self._append(packed, checked)
        return checked

    def remove(self, ids: IdsLike) -> None:
        """Remove the codes of ``ids``; the rest keep their order. An unknown id is a ``KeyError``."""
        with self._changing() as shared, self._writing:
            file = shared or self._file
            checked = check_ids(ids, kind=self.id_kind, unique=True)
            positions = self._positions.find_all(checked)
            if len(checked) == 0:
                return
            if file is not None:
                file.append(Record("r", checked, np.empty((0, self.codes.shape[1]), dtype=np.uint8)))
            self._drop(positions)

    def _append(self, codes: Codes, ids: Array) -> None:
        self._positions.append(ids, len(self))
        self._state = self._state._replace(rows=self._state.rows.append(codes, ids))

    def _drop(self, positions: Ints) -> None:
        kept = np.ones(len(self), dtype=np.bool_)
        kept[positions] = False
        rows, approximate = self._state.rows.keep(kept), self._state.approximate
        self._positions = IdPositions(rows.ids)
        self._state = self._state._replace(
            rows=rows, approximate=approximate and approximate.without(kept), n_removals=self._state.n_removals + 1
        )

    @contextmanager
    def _changing(self) -> Iterator[IndexFile | None]:
        """Give the file to append to in mode ``"shared"``, locked and caught up with; None in other modes."""
        if self._read_only is not None:
            raise ValueError(f"{self._read_only!r} was opened with mode='r'; open it with mode='a' to change it.")
        if self._follower is None:
            yield None
            return
        with self._follower.lock, self._follower.writing(self._wait, self._catch_up) as file:
            yield file

    def refresh(self) -> bool:
        """Take over what others have added to the file or removed from it; return whether anything changed.

        For modes ``"r"`` and ``"shared"``. Searches that run finish on what they began with. If the file is gone,
        damaged, or of another width or model, that error is raised, and the index stays as it was.
        """
        if self._follower is None:
            return False
        with self._follower.lock:
            before = self.version
            self._catch_up()
            return self.version != before

    def _catch_up(self, handle: int | None = None) -> None:
        assert self._follower is not None
        news, place = self._follower.news(handle)
        if isinstance(news, Contents):
            self._replace(self._from_contents(news))
        else:
            with self._writing:
                self._apply(news)
        self._follower.place = place

    def _replace(self, fresh: HammingIndex) -> None:
        if fresh.n_bits != self.n_bits:
            raise IndexFileError(f"the index file now holds codes of {fresh.n_bits} bits, before of {self.n_bits}.")
        check_same_model(("the index that was opened", self.model), ("the index file now", fresh.model))
        if self._state.approximate is not None and fresh.report_ is not None:
            fresh._tuned_for(fresh._state, fresh.report_.k)  # here, not in the first search
        with self._writing:
            self.recall, self.random_state = fresh.recall, fresh.random_state
            self._positions, self._state = fresh._positions, fresh._state

    @property
    def version(self) -> str | None:
        """What the file held when last read or written, 16 hexadecimal digits; None without a file."""
        if self._follower is not None and self._follower.place is not None:
            return self._follower.place.known.digest.hex()[:16]
        return None if self._file is None else self._file.digest.hex()[:16]

    def save(self, path: PathLike | None = None) -> None:
        """Write the index to ``path`` in one step: a kill at any moment leaves the old file or the new one.

        Without ``path``, an index opened with mode ``"a"`` rewrites its own file without the removed items.
        """
        with self._writing:
            own = self._file
            path = own.path if path is None and own is not None else path
            if path is None:
                raise ValueError("path=None needs an index opened with mode='a'; pass a path.")
            owned = own is not None and os.path.exists(path) and os.path.samefile(path, own.path)
            written = IndexFile.replace(path, self._header(), self.codes, self.ids, owned=owned)
            if owned and own is not None:
                self._file, written = written, own
            written.close()

    @classmethod
    def open(cls, path: PathLike, mode: Literal["r", "a", "shared"] = "r", *, wait: float = 0.0) -> HammingIndex:
        """Read an index that :meth:`save` wrote.

        With mode ``"a"`` the file stays open and locked against other writers, and each ``add`` and ``remove`` is on
        disk when it returns; ``close`` it, or use it as a context manager. Mode ``"shared"`` locks it for the moment
        of each change only, so that several processes can write; ``refresh`` takes over what others have changed.
        With mode ``"r"`` the index is read-only.
        Raises ``FileNotFoundError``, ``IndexFileError`` if the file is truncated, altered or foreign, and
        ``IndexLockedError`` if another writer keeps the lock for longer than ``wait`` seconds.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "shop.index"
        ...     HammingIndex(16).save(path)
        ...     with HammingIndex.open(path, "a") as index:
        ...         _ = index.add(np.array([[1, 2]], dtype=np.uint8), ids=[41])
        ...     HammingIndex.open(path).ids
        array([41])
        """
        if mode not in ("r", "a", "shared"):
            raise ValueError(
                f"mode={mode!r} must be 'r' (read), 'a' (read and add) or 'shared' (the same, with others)."
            )
        file, follower = None, None if mode == "a" else Follower(path)
        try:
            if follower is None:
                file, contents = IndexFile.open(path, wait)
            else:
                contents, follower.place = follower.first()
            index = cls._from_contents(contents)
        except (ValueError, KeyError, TypeError) as error:
            if file is not None:
                file.close()
            reason = error.args[0] if isinstance(error, KeyError) else error
            raise IndexFileError(f"{os.fspath(path)!r} is not a usable thpi index file: {reason}") from None
        index._file, index._follower, index._wait = file, follower, wait
        index._read_only = os.fspath(path) if mode == "r" else None
        return index

    @classmethod
    def _from_contents(cls, contents: Contents) -> HammingIndex:
        header = contents.header
        index = cls(header["n_bits"], header["recall"], random_state=header["random_state"], model=header["model"])
        if header["report"] is not None:
            index._state = index._state._replace(report=TuneReport.from_dict(header["report"]))
        index._apply([Record("a", contents.ids, contents.codes), *contents.records])
        return index

    def _apply(self, records: list[Record]) -> None:
        for kind, ids, codes in records:
            if kind == "r":
                self._drop(self._positions.find_all(ids))
            elif len(ids):
                self._positions.check_new(ids, self.id_kind)
                self._append(codes, ids)

    def _header(self) -> Header:
        from thpi import __version__

        report = self._state.report.to_dict() if self._state.report else None
        return Header(
            thpi=__version__,
            n_bits=self.n_bits,
            recall=self.recall,
            random_state=self.random_state,
            report=report,
            model=self.model,
        )

    def close(self) -> None:
        """Close the file of an index opened with mode ``"a"`` or ``"shared"``; it has every change already."""
        with self._writing:
            if self._follower is not None:
                self._read_only = os.fspath(self._follower.path)
            if self._file is not None:
                self._read_only = os.fspath(self._file.path)
                self._file.close()
            self._file = None

    def __enter__(self) -> HammingIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
