"""What stores and files of codes declare, and the calls that every store has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy.typing as npt

from thpi._types import Array, Codes, PathLike
from thpi.index._neighbours import Neighbours
from thpi.stores._table import CodeTable

Id: TypeAlias = "int | str"


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
    name, description : for people; the name is also the value of ``thpi export --format``.
    suffix : end of the file name.
    signatures : first bytes of such a file.
    read : ``read(path, n_bits)``; ``n_bits`` is needed only if the file does not contain it.
    write : ``write(path, codes, n_bits, ids)``.
    extra : the extra of the package that it needs.
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
