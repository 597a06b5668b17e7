"""One file that is a search engine: model, items with codes, and where they came from.

It may import encoder, model_file, index, codes; building imports auto and hashers. It knows no tables and no server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thpi._types import PathLike
from thpi.collection._collection import Collection
from thpi.collection._file import CollectionFileError, CollectionLockedError
from thpi.collection._items import Details

if TYPE_CHECKING:
    from thpi.collection._build import build, write
    from thpi.collection._evidence import evidence_of

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


def open(path: PathLike, *, wait: float = 5.0) -> Collection:
    """Open a collection that :func:`thpi.build` made.

    ``wait`` is how many seconds a change waits for another process that is changing the file. Raises
    ``FileNotFoundError``, or ``CollectionFileError`` if the file is foreign, altered or damaged.
    """
    return Collection(path, wait=wait)


def __getattr__(name: str) -> Any:
    # What learns is imported when something is to be learned: a search starts without it.
    homes = {"build": "_build", "write": "_build", "evidence_of": "_evidence"}
    if name in homes:
        return getattr(import_module(f"thpi.collection.{homes[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
