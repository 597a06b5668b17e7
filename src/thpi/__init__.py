"""Learning to hash for domains with little data, helped by privileged source data.

>>> import thpi
>>> thpi.ITQ(n_bits=16)
ITQ(n_bits=16)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from thpi.base import BaseHasher, Whole
    from thpi.hashers import (
        CCAITQ,
        CVH,
        DSH,
        HASHERS,
        ITQ,
        LSH,
        AutoHasher,
        ClassITQ,
        GroupITQ,
        ITQPlus,
        KernelAutoHasher,
        LapITQPlus,
        NeighbourHash,
        SpectralHashing,
        TransferITQ,
    )
    from thpi.model_file import ModelFileError, load

__all__ = [
    "AutoHasher",
    "BaseHasher",
    "CCAITQ",
    "CVH",
    "ClassITQ",
    "DSH",
    "GroupITQ",
    "HASHERS",
    "ITQ",
    "ITQPlus",
    "KernelAutoHasher",
    "LSH",
    "LapITQPlus",
    "NeighbourHash",
    "ModelFileError",
    "SpectralHashing",
    "TransferITQ",
    "Whole",
    "load",
]

_HOME = {
    "BaseHasher": "thpi.base",
    "Whole": "thpi.base",
    "load": "thpi.model_file",
    "ModelFileError": "thpi.model_file",
}


def __getattr__(name: str) -> Any:
    # scikit-learn alone takes over a second to import: the package comes at once, its parts when first named.
    if name not in __all__:
        raise AttributeError(f"module 'thpi' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME.get(name, "thpi.hashers")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
