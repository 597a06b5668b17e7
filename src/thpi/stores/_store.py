"""What all stores share: their calls, the base of those on a database engine, tables of codes, registry entries."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, PathLike
from thpi.codes import check_codes, n_bytes
from thpi.identity import check_fingerprint, check_same_model
from thpi.index._ids import IdKind, Neighbours, check_ids, number_on

if TYPE_CHECKING:
    from typing_extensions import Self

Id: TypeAlias = "int | str"
Stored: TypeAlias = "tuple[int, IdKind, str | None]"  # of a table: bits of a code, kind of the ids, model

BIT_ORDER = "little"
VERSION = 1  # of what files of codes say about themselves


def check_name(argument: str, value: object, longest: int = 255) -> str:
    """Return the name of a table or collection for engines that put it into files or statements.

    >>> check_name("table", "shop codes")
    Traceback (most recent call last):
    ValueError: table='shop codes' must be letters, digits and underscores, not a digit first, at most 255.
    """
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) or len(value) > longest:
        rule = f"must be letters, digits and underscores, not a digit first, at most {longest}"
        raise ValueError(f"{argument}={value!r} {rule}.")
    return value


def describe_codes(n_bits: int, model: str | None, **more: int | str) -> dict[str, int | str | None]:
    about: dict[str, int | str | None] = {"format": "thpi-codes", "version": VERSION, "n_bits": n_bits}
    return {**about, "bit_order": BIT_ORDER, "model": check_fingerprint(model), **more}


class CodeTable(NamedTuple):
    """Codes and ids read from a file, and the fingerprint of the model that made them, if the file has one.

    Iterate ``rows()`` to add them to a store.
    """

    codes: Codes
    ids: Array
    n_bits: int
    model: str | None = None

    @classmethod
    def checked(
        cls, codes: npt.ArrayLike, ids: npt.ArrayLike | None, n_bits: int, model: str | None = None
    ) -> CodeTable:
        """Check codes and ids (None: 0, 1, ...), which must be unique."""
        packed = check_codes(codes, n_bits=n_bits)
        given = np.arange(len(packed)) if ids is None else ids
        return cls(packed, check_ids(given, length=len(packed), unique=True), n_bits, check_fingerprint(model))

    def rows(self) -> Iterator[tuple[Id, Codes]]:
        """Iterate over (id, code) in order."""
        return zip(self.ids, self.codes, strict=True)


class CodeStore(Protocol):
    """The calls of :class:`thpi.index.HammingIndex` that every store has; ``add`` adds all codes or none.

    ``model`` is the fingerprint of the model that made the codes, None if it is not known.
    """

    @property
    def n_bits(self) -> int: ...
    @property
    def model(self) -> str | None: ...
    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array: ...
    def remove(self, ids: npt.ArrayLike) -> None: ...
    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours: ...
    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]: ...
    def get_codes(self, ids: npt.ArrayLike) -> Codes: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Id, Codes]]: ...
    def close(self) -> None: ...


def copy_codes(
    source: Iterable[tuple[Id, Codes]], target: CodeStore, *, batch_size: int = 10_000, any_model: bool = False
) -> int:
    """Add every (id, code) of ``source`` to ``target``, in order, one batch at a time; return their number.

    Both must be of one model; ``any_model`` accepts codes of an unknown one (see :mod:`thpi.identity`).

    >>> from thpi.index import HammingIndex
    >>> shop, copy = HammingIndex(8), HammingIndex(8)
    >>> _ = shop.add(np.array([[1], [2]], dtype=np.uint8), ids=["a", "b"])
    >>> copy_codes(shop, copy), copy.ids
    (2, array(['a', 'b'], dtype=object))
    """
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size!r} must be at least 1.")
    made_by: str | None = getattr(source, "model", None)
    check_same_model(("target", target.model), ("source", made_by), any_model=any_model)
    rows, total = iter(source), 0
    while batch := list(islice(rows, batch_size)):
        target.add(np.stack([code for _, code in batch]), ids=[item for item, _ in batch])
        total += len(batch)
    return total


class EngineStore(ABC):
    """Base of the stores on a database engine. ``_where`` names the table or collection in messages."""

    _where: str
    _kind: IdKind | None = None
    n_bits: int
    model: str | None = None
    """Fingerprint of the model that made the codes; None if it is not known."""

    def _agree(self, stored: Stored | None, n_bits: int | None, model: str | None, any_model: bool) -> None:
        """Set width, kind of ids and model from the table, if there is one, else from what is given."""
        if stored is None and n_bits is None:
            raise ValueError(f"n_bits=None: the {self._where} does not exist yet, so n_bits is needed.")
        if stored is not None and n_bits not in (None, stored[0]):
            raise ValueError(f"n_bits={n_bits!r} was given, but the {self._where} holds codes of {stored[0]} bits.")
        given = check_fingerprint(model)
        if stored is not None and given is not None:
            check_same_model((f"the {self._where}", stored[2]), ("model", given), any_model=any_model)
        width, self._kind, self.model = stored if stored is not None else (n_bits, None, given)
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
        if ids is None:
            return packed, number_on(len(packed), self.id_kind, self._next_id)
        return packed, check_ids(ids, length=len(packed), kind=self.id_kind, unique=True)

    @abstractmethod
    def _next_id(self) -> int:
        """Return one more than the largest id."""

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
        codes = np.array([found[item] for item in checked.tolist()], dtype=np.uint8)
        return codes.reshape(-1, n_bytes(self.n_bits))

    def _neighbours(self, rows: Sequence[tuple[float, Id]]) -> Neighbours:
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
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class StoreInfo:
    """The registry entry of a store; its name is also the value of ``thpi export --format``.

    ``connect(address, table, n_bits=..., token=..., model=..., any_model=...)`` opens the store, which needs the
    ``extra`` of the package; ``model`` is kept with a new table, and compared with that of an old one. Addresses
    with one of the ``prefixes`` or ``suffixes`` mean this store. Exceptions of the ``error_packages`` are messages of
    the engine. Without ``transactions``, an interrupted ``add`` may leave a part of the codes behind.
    """

    name: str
    description: str
    connect: Callable[..., CodeStore]
    extra: str | None = None
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    error_packages: tuple[str, ...] = ()
    transactions: bool = True

    def accepts(self, address: str) -> bool:
        """Whether the address means this store."""
        return address.startswith(self.prefixes) or address.endswith(self.suffixes)


@dataclass(frozen=True)
class FileFormat:
    """The registry entry of a kind of file that holds codes, recognised by its ``suffix`` or first bytes.

    ``read(path, n_bits)`` needs ``n_bits`` only if the file does not contain it. ``write(path, codes, n_bits, ids,
    model)`` also makes files whose names end in the suffixes ``beside``.
    """

    name: str
    description: str
    suffix: str
    signatures: tuple[bytes, ...]
    read: Callable[[PathLike, int | None], CodeTable]
    write: Callable[[PathLike, npt.ArrayLike, int, npt.ArrayLike | None, str | None], None]
    extra: str | None = None
    beside: tuple[str, ...] = ()
