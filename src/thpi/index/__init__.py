"""Search by asymmetric or Hamming distance in memory: exact or approximate, with durable files."""

from __future__ import annotations

from thpi.index._asymmetric import Order, asymmetric_distances
from thpi.index._file import IndexLockedError
from thpi.index._format import IndexFileError
from thpi.index._hamming_index import HammingIndex
from thpi.index._ids import IdsLike, Neighbours, check_ids, check_integer, id_kind, number_on
from thpi.index._rerank import (
    RecallReport,
    Vectors,
    asymmetric_rerank,
    euclidean_rerank,
    recall_gained,
)
from thpi.index._tune import KindReport, TuneReport

__all__ = [
    "HammingIndex",
    "IdsLike",
    "IndexFileError",
    "IndexLockedError",
    "KindReport",
    "Neighbours",
    "Order",
    "RecallReport",
    "TuneReport",
    "Vectors",
    "asymmetric_distances",
    "asymmetric_rerank",
    "check_ids",
    "check_integer",
    "euclidean_rerank",
    "id_kind",
    "number_on",
    "recall_gained",
]
