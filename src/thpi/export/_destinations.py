"""Where a collection can be exported to: one entry per kind of file and of store, found by the form of the target."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from thpi._types import PathLike
from thpi.export._files import CodeTable, write_faiss, write_npy, write_parquet
from thpi.export._lancedb import LanceDB
from thpi.export._milvus import Milvus
from thpi.export._postgresql import PgVector
from thpi.export._sqlite_vec import SqliteVec
from thpi.export._store import Store

if TYPE_CHECKING:
    from thpi.collection import Collection

Facts: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True)
class Destination:
    """A kind of file or store. A target is of this kind if it ends (``.npy``) or begins (``http://``) with a form.

    ``write(collection, target, **options)`` returns facts to show; ``options`` are the names of those that it takes.
    Exceptions of the ``error_packages`` are messages of an engine. A write that is not ``whole`` must be finished.
    """

    name: str
    description: str
    forms: tuple[str, ...]
    write: Callable[..., Facts]
    options: tuple[str, ...] = ()
    extra: str | None = None
    error_packages: tuple[str, ...] = ()
    whole: bool = True

    @classmethod
    def of_store(cls, name: str, description: str, forms: tuple[str, ...], store: type[Store]) -> Destination:
        """Return the entry of a store."""
        more = store.extra, store.error_packages, store._transaction is not Store._transaction
        return cls(name, description, forms, partial(_mirror, store), ("table", "texts"), *more)

    @property
    def is_file(self) -> bool:
        """Whether the target is a file that is written anew."""
        return "table" not in self.options


def destination_of(target: str) -> Destination:
    """Return the kind of a target.

    >>> destination_of("codes.parquet").name, destination_of("postgresql://localhost/shop").name
    ('parquet', 'pgvector')
    """
    forms = {form: known for known in DESTINATIONS.values() for form in known.forms}
    for form, known in forms.items():
        if target.startswith(form) if "://" in form else target.lower().endswith(form):
            return known
    names = [f"{form}..." if "://" in form else f"*{form}" for form in forms]
    raise ValueError(f"TARGET={target!r} must have the form of a file or store: {', '.join(names)}.")


def write(collection: Collection, target: PathLike, *, force: bool = False, **options: Any) -> Facts:
    """Export a collection to a file or a store, by the form of ``target``; return what was written.

    ``texts=True`` adds the texts of the items (Parquet and stores), ``table`` names the table of a store, and
    ``side="source"`` chooses the source side of a two-sided model (ONNX). ``force`` replaces a file, and removes from a
    table what the collection has not.

    >>> import numpy as np, tempfile, thpi
    >>> X = np.random.RandomState(0).standard_normal((100, 16))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shop = thpi.build(f"{folder}/shop.thpi", X, bits=8)
    ...     write(shop, f"{folder}/codes.npy")["items"], write(shop, f"{folder}/shop.sqlite")["added"]
    (100, 100)
    """
    place = os.fspath(target)
    kind = destination_of(place)
    for name in [name for name in options if name not in kind.options]:
        others = ", ".join(known.name for known in DESTINATIONS.values() if name in known.options) or "none"
        raise ValueError(f"{name}={options[name]!r} is not for {kind.name}; for: {others}.")
    if not kind.is_file:
        return kind.write(collection, place, force=force, **options)
    if os.path.exists(place) and not force:
        raise FileExistsError(f"target={place!r} exists already; force=True replaces it.")
    return kind.write(collection, place, **options)


def _codes(
    write_table: Callable[[PathLike, CodeTable], None], collection: Collection, target: str, *, texts: bool = False
) -> Facts:
    write_table(target, CodeTable.of(collection, texts=texts))
    return _facts(collection)


def _onnx(collection: Collection, target: str, side: str = "target") -> Facts:
    from thpi.onnx_file import write_onnx

    if side not in ("target", "source"):
        raise ValueError(f"side={side!r} must be 'target' or 'source'.")
    coder = collection.hasher if side == "target" else collection.hasher.source_side
    checked = write_onnx(coder, target)
    facts = {"method": coder.method_name, "features": coder.n_features_in_, "bits": coder.n_bits}
    return facts | {"checked": "no: onnxruntime is not installed" if checked is None else checked._asdict()}


def _mirror(
    store: type[Store], collection: Collection, target: str, *, force: bool, table: str = "codes", texts: bool = False
) -> Facts:
    with store(target, table) as connected:
        done = connected.mirror(CodeTable.of(collection, texts=texts), force=force)
    return {"table": table, **_facts(collection), **done._asdict()}


def _facts(collection: Collection) -> Facts:
    return {"items": len(collection), "bits": collection.n_bits, "fingerprint": collection.model}


_DESTINATIONS = (
    Destination("npy", "an array for numpy, width and ids included", (".npy",), partial(_codes, write_npy)),
    Destination("parquet", "a Parquet file", (".parquet",), partial(_codes, write_parquet), ("texts",)),
    Destination("faiss", "a faiss binary index; integer ids only", (".faiss",), partial(_codes, write_faiss)),
    Destination("onnx", "the hash function, for other languages", (".onnx",), _onnx, ("side",), extra="onnx"),
    Destination.of_store("pgvector", "a table of PostgreSQL with pgvector", ("postgresql://", "postgres://"), PgVector),
    Destination.of_store("sqlite-vec", "a table of an SQLite file, for sqlite-vec", (".sqlite", ".sqlite3"), SqliteVec),
    Destination.of_store(
        "lancedb", "a Lance table, in a folder or an object store", (".lancedb", "s3://", "gs://", "az://"), LanceDB
    ),
    Destination.of_store(
        "milvus", "a Milvus collection, on a server or in a file", ("http://", "https://", ".db"), Milvus
    ),
)
DESTINATIONS: dict[str, Destination] = {entry.name: entry for entry in _DESTINATIONS}
"""The kinds of files and stores by name. Assign an entry to add one of your own."""
