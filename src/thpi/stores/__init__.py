"""Codes in database engines and in files that other programs read.

:data:`STORES` and :data:`FORMATS` are the registries. To add a store, write a file with its class and a
:class:`StoreInfo` and list it below.
"""

from __future__ import annotations

from thpi.stores import _lancedb, _milvus, _pgvector, _qdrant, _sqlite_vec
from thpi.stores._files import FORMATS, read_faiss, read_npy, read_parquet, write_faiss, write_npy, write_parquet
from thpi.stores._lancedb import LanceDB
from thpi.stores._milvus import Milvus
from thpi.stores._parts import PartsReport, encode_parts, read_parts
from thpi.stores._pgvector import PgVector
from thpi.stores._qdrant import Qdrant
from thpi.stores._sqlite_vec import SqliteVec
from thpi.stores._store import CodeStore, CodeTable, FileFormat, StoreInfo, copy_codes

__all__ = [
    "FORMATS",
    "STORES",
    "CodeStore",
    "CodeTable",
    "FileFormat",
    "LanceDB",
    "Milvus",
    "PartsReport",
    "PgVector",
    "Qdrant",
    "SqliteVec",
    "StoreInfo",
    "copy_codes",
    "encode_parts",
    "read_faiss",
    "read_npy",
    "read_parquet",
    "read_parts",
    "write_faiss",
    "write_npy",
    "write_parquet",
]

_STORES = (_pgvector.STORE, _milvus.STORE, _sqlite_vec.STORE, _lancedb.STORE, _qdrant.STORE)
STORES: dict[str, StoreInfo] = {store.name: store for store in _STORES}
"""The stores by name. Assign an entry to add a store of your own."""
