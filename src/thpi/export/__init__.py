"""A collection for other programs: files, tables of database engines, and its hash function as ONNX.

It may import ``collection/`` and what lies below. An engine is imported when it is connected to.
"""

from __future__ import annotations

from thpi.export._destinations import DESTINATIONS, Destination, destination_of, write
from thpi.export._files import CodeTable, read_parquet, write_faiss, write_npy, write_parquet
from thpi.export._lancedb import LanceDB
from thpi.export._milvus import Milvus
from thpi.export._postgresql import PgVector
from thpi.export._sqlite_vec import SqliteVec
from thpi.export._store import Mirrored, Store

__all__ = ["DESTINATIONS", "CodeTable", "Destination", "LanceDB", "Milvus", "Mirrored", "PgVector", "SqliteVec"]
__all__ += ["Store", "destination_of", "read_parquet", "write", "write_faiss", "write_npy", "write_parquet"]
