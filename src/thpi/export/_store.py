"""The calls of a store, and the registry of stores. Nothing of an engine is imported before it is connected to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes
from thpi.export._table import Id
from thpi.identity import check_same_model
from thpi.index import Neighbours


class CodeStore(Protocol):
    """The calls of a store, all of which :class:`thpi.index.HammingIndex` has too.

    ``add`` adds all codes or none. ``search`` is exact: the ``k`` nearest by Hamming distance, equal distances in the
    order in which they were added. ``model`` is the fingerprint of the model that made the codes, None if not known.
    """

    @property
    def n_bits(self) -> int: ...
    @property
    def model(self) -> str | None: ...
    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array: ...
    def remove(self, ids: npt.ArrayLike) -> None: ...
    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours: ...
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


def _later(module: str, name: str) -> Callable[..., CodeStore]:
    """Return a function that imports the class of a store when it is called."""

    def connect(*arguments: Any, **options: Any) -> CodeStore:
        store: CodeStore = getattr(import_module(f"thpi.export.{module}"), name)(*arguments, **options)
        return store

    return connect


_STORES = (
    StoreInfo(
        name="pgvector",
        description="a table of PostgreSQL with pgvector",
        connect=_later("_postgresql", "PgVector"),
        extra="pgvector",
        prefixes=("postgresql://", "postgres://"),
        error_packages=("psycopg", "psycopg_binary"),
    ),
    StoreInfo(
        name="milvus",
        description="a Milvus collection, on a server or in a file",
        connect=_later("_milvus", "Milvus"),
        extra="milvus",
        prefixes=("http://", "https://"),
        suffixes=(".db",),
        error_packages=("pymilvus", "grpc"),
        transactions=False,
    ),
    StoreInfo(
        name="sqlite-vec",
        description="a table of an SQLite file with sqlite-vec",
        connect=_later("_sqlite_vec", "SqliteVec"),
        extra="sqlite-vec",
        suffixes=(".sqlite", ".sqlite3"),
        error_packages=("sqlite3", "apsw"),
    ),
    StoreInfo(
        name="lancedb",
        description="a Lance table, in a folder or an object store",
        connect=_later("_lancedb", "LanceDB"),
        extra="lancedb",
        prefixes=("s3://", "gs://", "az://"),
        suffixes=(".lancedb",),
        error_packages=("lancedb",),
    ),
)
STORES: dict[str, StoreInfo] = {store.name: store for store in _STORES}
"""The stores by name. Assign an entry to add a store of your own."""
