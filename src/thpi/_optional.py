"""Optional packages, imported on use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str) -> Any:
    """Import an optional module; if it is missing, the error explains how to install it.

    >>> require("no_such_module", "pgvector")
    Traceback (most recent call last):
    ImportError: this needs the package 'no_such_module'; install it with: pip install "thpi[pgvector]"
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # The missing package may also be a dependency of the module; the extra installs both.
        raise ImportError(
            f'this needs the package {error.name!r}; install it with: pip install "thpi[{extra}]"'
        ) from None


PACKAGES = {
    "dask": "distributed",
    "lancedb": "lancedb",
    "milvus": "pymilvus",
    "onnx": "onnx",
    "parquet": "pyarrow",
    "pgvector": "psycopg",
    "plots": "matplotlib",
}
"""A package of each extra that commands may need at their end."""


def require_extra(extra: str) -> None:
    """Raise an error if a package of an extra is missing: before the work, rather than after it.

    Extras of stores that others have registered are theirs to check.
    """
    if extra in PACKAGES:
        require(PACKAGES[extra], extra)
