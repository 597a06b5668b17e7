"""What stores on a database engine share: width and kind of ids, checks, numbering, answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes
from thpi.codes import check_codes, n_bytes
from thpi.index._ids import IdKind, Neighbours, check_ids, check_unique
from thpi.stores._store import Id

if TYPE_CHECKING:
    from typing_extensions import Self


class EngineStore(ABC):
    """Base of :class:`PgVector` and :class:`Milvus`. ``_where`` names the table or collection in messages."""

    _where: str
    _kind: IdKind | None = None
    n_bits: int

    def _agree(self, stored: tuple[int, IdKind] | None, n_bits: int | None) -> None:
        """Set width and kind of ids from the table, if there is one, else from ``n_bits``."""
        if stored is None and n_bits is None:
            raise ValueError(f"n_bits=None: the {self._where} does not exist yet, so n_bits is needed.")
        if stored is not None and n_bits not in (None, stored[0]):
            raise ValueError(f"n_bits={n_bits!r} was given, but the {self._where} holds codes of {stored[0]} bits.")
        width, self._kind = stored if stored is not None else (n_bits, None)
        self.n_bits = int(width or 0)

    @property
    def id_kind(self) -> IdKind | None:
        """``"int64"`` or ``"string"``; None until codes are stored."""
        return self._kind

    @property
    def _id_type(self) -> type:
        return object if self._kind == "string" else np.int64

    def _checked(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None) -> tuple[Codes, Array]:
        packed = check_codes(codes, n_bits=self.n_bits)
        checked = self._new_ids(len(packed)) if ids is None else check_ids(ids, length=len(packed), kind=self.id_kind)
        check_unique(checked)
        return packed, checked

    @abstractmethod
    def _next_id(self) -> int:
        """Return one more than the largest id, at least 0."""

    def _new_ids(self, n: int) -> Array:
        if self.id_kind == "string":
            raise ValueError("ids=None numbers the codes, but the ids stored here are strings; pass ids.")
        first = 0 if self.id_kind is None else self._next_id()
        if first + n - 1 > np.iinfo(np.int64).max:
            raise ValueError(f"ids=None would continue from {first}, beyond 64 bits; pass ids.")
        return np.arange(first, first + n, dtype=np.int64)

    def _check_present(self, ids: Array, found: Container[Id]) -> None:
        for item in ids.tolist():
            if item not in found:
                raise KeyError(f"ids={item!r} is not in the {self._where}.")

    def _refuse_known(self, ids: Array, known: Container[Id]) -> None:
        for item in ids.tolist():
            if item in known:
                raise ValueError(f"ids={item!r} is in the {self._where} already; remove it first.")

    @abstractmethod
    def _find(self, ids: Array) -> dict[Id, Codes]:
        """Return the codes of those of the ids that are stored."""

    def get_codes(self, ids: npt.ArrayLike) -> Codes:
        """Return the codes of ``ids``; an unknown id raises a ``KeyError`` that names it."""
        checked = check_ids(ids, kind=self.id_kind)
        found = self._find(checked)
        self._check_present(checked, found)
        codes = [found[item] for item in checked.tolist()]
        return np.array(codes, dtype=np.uint8).reshape(-1, n_bytes(self.n_bits))

    def _neighbours(self, rows: Sequence[tuple[float, Id]]) -> Neighbours:
        """Return (distance, id) in order as arrays."""
        ids: Array = np.empty(len(rows), dtype=self._id_type)
        ids[:] = [item for _, item in rows]
        return Neighbours(np.array([round(distance) for distance, _ in rows], dtype=np.int32), ids)

    def _stacked(self, found: Sequence[Neighbours]) -> Neighbours:
        """Return the answers to all queries as one pair of arrays, as wide as the shortest answer."""
        width = min((len(row.ids) for row in found), default=0)
        distances = np.array([row.distances[:width] for row in found], dtype=np.int32)
        ids: Array = np.array([row.ids[:width] for row in found], dtype=self._id_type)
        return Neighbours(distances.reshape(len(found), width), ids.reshape(len(found), width))

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
