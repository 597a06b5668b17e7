"""Codes in engines that are running already (PostgreSQL, Milvus) and in files that other programs read."""

from __future__ import annotations

from thpi.stores._copy import copy_codes
from thpi.stores._files import CodeTable, read_faiss, read_npy, read_parquet, write_faiss, write_npy, write_parquet
from thpi.stores._milvus import Milvus
from thpi.stores._parts import PartsReport, encode_parts, read_parts
from thpi.stores._pgvector import PgVector
from thpi.stores._store import CodeStore

__all__ = [
    "CodeStore",
    "CodeTable",
    "Milvus",
    "PartsReport",
    "PgVector",
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
