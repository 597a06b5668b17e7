"""Codes for other programs: files, and tables of database engines. Each engine is imported when it is connected to.

:data:`FORMATS` and :data:`STORES` are the registries. To add a store, write a file with its class, usually on
:class:`EngineStore`, and list it in ``_store.py``. This room may import rooms up to the index.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thpi.export._engine import EngineStore
    from thpi.export._files import (
        FORMATS,
        read_faiss,
        read_npy,
        read_parquet,
        write_faiss,
        write_npy,
        write_parquet,
    )
    from thpi.export._lancedb import LanceDB
    from thpi.export._milvus import Milvus
    from thpi.export._parts import PartsReport, encode_parts, read_parts
    from thpi.export._postgresql import PgVector
    from thpi.export._sqlite_vec import SqliteVec
    from thpi.export._store import STORES, CodeStore, StoreInfo, copy_codes
    from thpi.export._table import CodeTable, FileFormat
    from thpi.export._workarounds import settle_ties

_HOME = {
    "_engine": ["EngineStore"],
    "_files": ["FORMATS", "read_faiss", "read_npy", "read_parquet", "write_faiss", "write_npy", "write_parquet"],
    "_lancedb": ["LanceDB"],
    "_milvus": ["Milvus"],
    "_parts": ["PartsReport", "encode_parts", "read_parts"],
    "_postgresql": ["PgVector"],
    "_sqlite_vec": ["SqliteVec"],
    "_store": ["STORES", "CodeStore", "StoreInfo", "copy_codes"],
    "_table": ["CodeTable", "FileFormat"],
    "_workarounds": ["settle_ties"],
}

__all__ = [
    "FORMATS",
    "STORES",
    "CodeStore",
    "CodeTable",
    "EngineStore",
    "FileFormat",
    "LanceDB",
    "Milvus",
    "PartsReport",
    "PgVector",
    "SqliteVec",
    "StoreInfo",
    "copy_codes",
    "encode_parts",
    "read_faiss",
    "read_npy",
    "read_parquet",
    "read_parts",
    "settle_ties",
    "write_faiss",
    "write_npy",
    "write_parquet",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            globals()[name] = getattr(import_module(f"thpi.export.{module}"), name)
            return globals()[name]
    raise AttributeError(f"module 'thpi.export' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
