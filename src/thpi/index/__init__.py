"""Search by asymmetric or Hamming distance in memory, exact or approximate, and ids.

An index is saved as one file, as a whole; what must be on disk with every change is a collection.
It may import codes, identity and kernels. It knows neither models nor tables.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thpi.index._hamming_index import HammingIndex
from thpi.index._ids import IdKind, IdsLike, Neighbours, check_ids, id_kind, number_on
from thpi.index._queries import Order, asymmetric_distances

if TYPE_CHECKING:
    from thpi.index._exact import faiss_module
    from thpi.index._snapshot import IndexFileError
    from thpi.index._tune import TuneReport

__all__ = [
    "HammingIndex",
    "IdKind",
    "IdsLike",
    "IndexFileError",
    "Neighbours",
    "Order",
    "TuneReport",
    "asymmetric_distances",
    "check_ids",
    "faiss_module",
    "id_kind",
    "number_on",
]

_LATER = {"IndexFileError": "_snapshot", "TuneReport": "_tune", "faiss_module": "_exact"}


def __getattr__(name: str) -> Any:
    if name in _LATER:  # a search does not need it
        return getattr(import_module(f"thpi.index.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
