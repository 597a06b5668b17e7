"""Search by asymmetric or Hamming distance in memory, exact or approximate, and ids.

An index is saved as one file, as a whole; what must be on disk with every change is a collection.
It may import codes, identity and kernels. It knows neither models nor tables.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thpi.index._asymmetric import Order, asymmetric_distances, check_integer
from thpi.index._exact import faiss_module, no_check
from thpi.index._hamming_index import HammingIndex
from thpi.index._ids import IdExistsError, IdPositions, IdsLike, Neighbours, check_ids, id_kind, number_on

if TYPE_CHECKING:
    from thpi.index._rerank import Vectors, asymmetric_rerank, euclidean_rerank
    from thpi.index._snapshot import IndexFileError
    from thpi.index._tune import KindReport, TuneReport

__all__ = [
    "HammingIndex",
    "IdExistsError",
    "IdPositions",
    "IdsLike",
    "IndexFileError",
    "KindReport",
    "Neighbours",
    "Order",
    "TuneReport",
    "Vectors",
    "asymmetric_distances",
    "asymmetric_rerank",
    "check_ids",
    "check_integer",
    "euclidean_rerank",
    "faiss_module",
    "id_kind",
    "no_check",
    "number_on",
]

_LATER = {"IndexFileError": "_snapshot", "KindReport": "_tune", "TuneReport": "_tune"} | dict.fromkeys(
    ("Vectors", "asymmetric_rerank", "euclidean_rerank"), "_rerank"
)


def __getattr__(name: str) -> Any:
    if name in _LATER:  # a search does not need it
        return getattr(import_module(f"thpi.index.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
