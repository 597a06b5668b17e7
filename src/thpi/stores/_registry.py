"""The registries of stores and of files of codes."""

from __future__ import annotations

from thpi.stores import _milvus, _pgvector
from thpi.stores._files import FAISS, NPY, PARQUET
from thpi.stores._store import FileFormat, StoreInfo

STORES: dict[str, StoreInfo] = {store.name: store for store in (_pgvector.STORE, _milvus.STORE)}
"""The stores by name. Assign an entry to add a store of your own."""

FORMATS: dict[str, FileFormat] = {file.name: file for file in (NPY, PARQUET, FAISS)}
"""The kinds of files of codes by name."""
