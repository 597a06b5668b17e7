"""Optional packages, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["require"]


def require(module: str, extra: str) -> Any:
    """Import an optional module, or say how to install it.

    >>> require("no_such_module", "pgvector")
    Traceback (most recent call last):
    ImportError: this needs the package 'no_such_module'; install it with: pip install "thpi[pgvector]"
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # Also where the module is there and one that it needs is not: the extra names them all.
        raise ImportError(
            f'this needs the package {error.name!r}; install it with: pip install "thpi[{extra}]"'
        ) from None
