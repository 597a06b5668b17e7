"""One file that is a search engine: model, items with codes, and where they came from.

It may import encoder, model_file, index, codes; building imports auto and hashers. It knows no tables and no server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thpi.collection._collection import Collection, open
from thpi.collection._file import CollectionFileError, CollectionLockedError, Details

if TYPE_CHECKING:
    from thpi.collection._build import build, evidence_of, write

__all__ = [
    "Collection",
    "CollectionFileError",
    "CollectionLockedError",
    "Details",
    "build",
    "evidence_of",
    "open",
    "write",
]


def __getattr__(name: str) -> Any:
    # What learns is imported when something is to be learned: a search starts without it.
    if name in ("build", "evidence_of", "write"):
        return getattr(import_module("thpi.collection._build"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
