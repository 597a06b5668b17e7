"""What stores and files of codes declare, the calls that every store has, and tables of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, PathLike
from thpi.codes import check_codes
from thpi.index._ids import Neighbours, check_ids, check_unique

Id: TypeAlias = "int | str"

BIT_ORDER = "little"


def describe_codes(n_bits: int, **more: str) -> dict[str, int | str]:
    """Return the metadata that is kept with codes."""
    return {"format": "thpi-codes", "version": 1, "n_bits": n_bits, "bit_order": BIT_ORDER, **more}


class CodeTable(NamedTuple):
    """Codes and ids read from a file; iterate ``rows()`` to add them to a store."""

    codes: Codes
    ids: Array
    n_bits: int

    @classmethod
    def checked(cls, codes: npt.ArrayLike, ids: npt.ArrayLike | None, n_bits: int) -> CodeTable:
        """Check codes and ids (None: 0, 1, ...), which must be unique.

        >>> CodeTable.checked([[1], [2]], None, 8).ids
        array([0, 1])
        """
        packed = check_codes(codes, n_bits=n_bits)
        table = cls(packed, check_ids(np.arange(len(packed)) if ids is None else ids, length=len(packed)), n_bits)
        check_unique(table.ids)
        return table

    def rows(self) -> Iterator[tuple[Id, Codes]]:
        """Iterate over (id, code) in order."""
        return zip(self.ids, self.codes, strict=True)


class CodeStore(Protocol):
    """Codes with ids, searched by Hamming distance: HammingIndex, PgVector, Milvus."""

    @property
    def n_bits(self) -> int:
        """Bits of a code."""

    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array:
        """Add codes under ids, all or none; return the ids."""

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove the codes of ids."""

    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours:
        """Return the k nearest items of each query."""

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Return all items at distance <= radius of each query."""

    def get_codes(self, ids: npt.ArrayLike) -> Codes:
        """Return the codes of ids."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[Id, Codes]]: ...

    def close(self) -> None:
        """Release what the store holds open."""


def copy_codes(source: Iterable[tuple[Id, Codes]], target: CodeStore, *, batch_size: int = 10_000) -> int:
    """Add every (id, code) of ``source`` to ``target``, in order, one batch at a time; return their number.

    >>> from thpi.index import HammingIndex
    >>> shop, copy = HammingIndex(8), HammingIndex(8)
    >>> _ = shop.add(np.array([[1], [2]], dtype=np.uint8), ids=["a", "b"])
    >>> copy_codes(shop, copy), copy.ids
    (2, array(['a', 'b'], dtype=object))
    """
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size!r} must be at least 1.")
    rows, total = iter(source), 0
    while batch := list(islice(rows, batch_size)):
        target.add(np.stack([code for _, code in batch]), ids=[item for item, _ in batch])
        total += len(batch)
    return total


@dataclass(frozen=True)
class StoreInfo:
    """The registry entry of a store.

    Parameters
    ----------
    name, description : for people; the name is also the value of ``thpi export --format``.
    connect : opens a store: ``connect(address, table, n_bits, token)``.
    extra : the extra of the package that it needs.
    prefixes, suffixes : beginnings and ends of the addresses that mean this store.
    error_packages : packages whose exceptions are messages of the engine.
    transactions : whether ``add`` can be interrupted without leaving a part of the codes behind.
    """

    name: str
    description: str
    connect: Callable[[str, str, int | None, str], CodeStore]
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
    """The registry entry of a kind of file that holds codes.

    Parameters
    ----------
    name, description, extra : as in :class:`StoreInfo`.
    suffix : end of the file name.
    signatures : first bytes of such a file.
    read : ``read(path, n_bits)``; ``n_bits`` is needed only if the file does not contain it.
    write : ``write(path, codes, n_bits, ids)``.
    beside : suffixes of further files that ``write`` makes.
    """

    name: str
    description: str
    suffix: str
    signatures: tuple[bytes, ...]
    read: Callable[[PathLike, int | None], CodeTable]
    write: Callable[[PathLike, npt.ArrayLike, int, npt.ArrayLike | None], None]
    extra: str | None = None
    beside: tuple[str, ...] = ()
