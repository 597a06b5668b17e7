"""HammingIndex: codes with ids, searched by Hamming distance."""

from __future__ import annotations

import os
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Literal

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, PathLike
from thpi.codes import check_codes
from thpi.identity import check_fingerprint
from thpi.index._file import IndexFile
from thpi.index._follow import Follower
from thpi.index._format import Contents, Header, IndexFileError, Record
from thpi.index._ids import IdsLike, check_ids, check_integer, number_on
from thpi.index._kept import Kept
from thpi.index._searching import State
from thpi.index._stored_report import read_report


class HammingIndex(Kept):
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
        recall = None if recall is None else float(recall)
        super().__init__(n_bits, recall, int(random_state), check_fingerprint(model))

    def __iter__(self) -> Iterator[tuple[int | str, Codes]]:
        rows = self._state.rows
        return zip(rows.ids.tolist(), rows.codes, strict=True)

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

    def get_codes(self, ids: IdsLike) -> Codes:
        """Return the codes of ``ids``; an unknown id is a ``KeyError`` that names it."""
        with self._writing:
            return self._state.rows.codes[self._known().find_all(check_ids(ids, kind=self.id_kind))]

    def add(self, codes: npt.ArrayLike, ids: IdsLike | None = None) -> Array:
        """Add codes under new ids, and return the ids.

        Ids are 64-bit integers or strings, one kind per index; by default the codes are numbered on from the largest
        id, starting at 0. If anything is wrong, nothing is added. If the index was opened with mode ``"a"``, the codes
        are on disk when this returns.
        """
        packed = check_codes(codes, n_bits=self.n_bits)
        with self._changing() as file:
            if ids is None:
                checked = number_on(len(packed), self.id_kind, lambda: int(self.ids.max()) + 1)
            else:
                checked = check_ids(ids, length=len(packed))
            if len(packed) == 0:
                return checked
            self._positions.check_new(checked, self.id_kind)
            self._commit(file, Record("a", checked, packed))
        return checked

    def remove(self, ids: IdsLike) -> None:
        """Remove the codes of ``ids``; the rest keep their order. An unknown id is a ``KeyError``."""
        with self._changing() as file:
            checked = check_ids(ids, kind=self.id_kind, unique=True)
            self._positions.find_all(checked)
            if len(checked):
                self._commit(file, Record("r", checked, np.empty((0, self.codes.shape[1]), dtype=np.uint8)))

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
        except BaseException as error:
            if file is not None:
                file.close()
            if not isinstance(error, IndexFileError):
                raise
            raise IndexFileError(f"{os.fspath(path)!r} is not a usable thpi index file: {error}") from None
        index._file, index._follower, index._wait = file, follower, wait
        index._read_only = os.fspath(path) if mode == "r" else None
        return index

    @classmethod
    def _from_contents(cls, contents: Contents) -> HammingIndex:
        header = contents.header
        try:
            index = cls(header["n_bits"], header["recall"], random_state=header["random_state"], model=header["model"])
            if header["report"] is not None:
                index._state = index._state._replace(report=read_report(header["report"], index.n_bits))
            index._apply([Record("a", contents.ids, contents.codes), *contents.records])
        except (ValueError, KeyError, TypeError) as error:
            raise IndexFileError(str(error.args[0])) from None
        return index

    def _header(self, state: State) -> Header:
        from thpi import __version__

        report = state.report.to_dict() if state.report else None
        return Header(
            thpi=__version__,
            n_bits=self.n_bits,
            recall=self.recall,
            random_state=self.random_state,
            report=report,
            model=self.model,
        )

    def __enter__(self) -> HammingIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
