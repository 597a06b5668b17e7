"""Loading a data set by its name."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from thpi.datasets._paired import PairedDataset
from thpi.datasets._registry import info

__all__ = ["load"]


def load(name: str, data_home: str | os.PathLike[str] | None = None, **options: Any) -> PairedDataset:
    """Load a data set by its name in the registry; ``options`` go to its loader.

    >>> load("digits", source="kar").d_source
    64
    """
    entry = info(name)
    module, function = entry.loader.split(":")
    loader = getattr(import_module(module), function)
    if entry.folder is not None:
        options["data_home"] = data_home
    dataset: PairedDataset = loader(**options)
    return dataset
