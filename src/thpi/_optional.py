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
