"""Search by image embedding in 4 bytes per item, improved by the text or tags you have only at training time.

>>> import thpi
>>> thpi.ITQ(n_bits=16)
ITQ(n_bits=16)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from thpi.auto import AutoHasher
    from thpi.base import BaseHasher, Whole
    from thpi.collection import Collection, build, open
    from thpi.comparison import ResidualQuantiser, compare
    from thpi.encoder import Encoder, load_encoder
    from thpi.evaluation import diagnose
    from thpi.hashers import (
        CCAITQ,
        CVH,
        DSH,
        ITQ,
        LSH,
        ClassITQ,
        GroupITQ,
        ITQPlus,
        LapITQPlus,
        NeighbourHash,
        SpectralHashing,
        TransferITQ,
        TwoSidedITQ,
    )
    from thpi.identity import ModelMismatchError
    from thpi.model_file import ModelFileError
    from thpi.pairing import pair
    from thpi.registry import HASHERS, RELEVANCES, load, register

_HOME = {
    "AutoHasher": "auto",
    "BaseHasher": "base",
    "Collection": "collection",
    "Encoder": "encoder",
    "HASHERS": "registry",
    "ModelFileError": "model_file",
    "ModelMismatchError": "identity",
    "RELEVANCES": "registry",
    "ResidualQuantiser": "comparison",
    "Whole": "base",
    "build": "collection",
    "compare": "comparison",
    "diagnose": "evaluation",
    "load": "registry",
    "load_encoder": "encoder",
    "open": "collection",
    "pair": "pairing",
    "register": "registry",
}

__all__ = [
    "AutoHasher",
    "BaseHasher",
    "CCAITQ",
    "CVH",
    "ClassITQ",
    "Collection",
    "DSH",
    "Encoder",
    "GroupITQ",
    "HASHERS",
    "ITQ",
    "ITQPlus",
    "LSH",
    "LapITQPlus",
    "ModelFileError",
    "ModelMismatchError",
    "NeighbourHash",
    "RELEVANCES",
    "ResidualQuantiser",
    "SpectralHashing",
    "TransferITQ",
    "TwoSidedITQ",
    "Whole",
    "build",
    "compare",
    "diagnose",
    "load",
    "load_encoder",
    "open",
    "pair",
    "register",
]


def __getattr__(name: str) -> Any:
    # scikit-learn alone takes over a second to import: the package comes at once, its parts when first named.
    if name not in __all__:
        raise AttributeError(f"module 'thpi' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"thpi.{_HOME.get(name, 'hashers')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
