"""The hashing methods, one file each.

``HASHERS`` is the registry: adding a method is one file, one line here and one line in the docs. The name is the
class's name; commands, experiments and model files find a method by it.
"""

from __future__ import annotations

from thpi.base import BaseHasher
from thpi.hashers._cca_itq import CCAITQ
from thpi.hashers._class_itq import ClassITQ
from thpi.hashers._cvh import CVH
from thpi.hashers._dsh import DSH
from thpi.hashers._group_itq import GroupITQ
from thpi.hashers._itq import ITQ
from thpi.hashers._itq_plus import ITQPlus
from thpi.hashers._lap_itq_plus import LapITQPlus
from thpi.hashers._lsh import LSH
from thpi.hashers._neighbour_hash import NeighbourHash
from thpi.hashers._spectral import SpectralHashing
from thpi.hashers._transfer_itq import TransferITQ
from thpi.transfer._auto import AutoHasher
from thpi.transfer._kernel_auto import KernelAutoHasher

__all__ = [
    "AutoHasher",
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
    "SpectralHashing",
    "TransferITQ",
]

HASHERS: dict[str, type[BaseHasher]] = {
    method.__name__: method
    for method in (
        *(LSH, SpectralHashing, DSH, ITQ, CVH, CCAITQ),
        *(ITQPlus, LapITQPlus),
        *(TransferITQ, ClassITQ, GroupITQ, NeighbourHash, AutoHasher, KernelAutoHasher),
    )
}
"""Every method by its name, from the plainest over the paper's to those that choose."""
