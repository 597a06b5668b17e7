"""Search by Hamming distance in memory: exact or approximate, with durable files and reranking by finer distances."""

from __future__ import annotations

from thpi.index._file import IndexLockedError
from thpi.index._format import IndexFileError
from thpi.index._hamming_index import HammingIndex
from thpi.index._ids import Neighbours
from thpi.index._rerank import (
    RecallReport,
    Vectors,
    asymmetric_distances,
    asymmetric_rerank,
    euclidean_rerank,
    recall_gained,
)
from thpi.index._tune import KindReport, TuneReport

__all__ = [
    "HammingIndex",
    "IndexFileError",
    "IndexLockedError",
    "KindReport",
    "Neighbours",
    "RecallReport",
    "TuneReport",
    "Vectors",
    "asymmetric_distances",
    "asymmetric_rerank",
    "euclidean_rerank",
    "recall_gained",
]
