"""The hashing methods, one file each; see :mod:`thpi.registry` for all of them by name."""

from __future__ import annotations

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
from thpi.hashers._two_sided_itq import TwoSidedITQ

__all__ = [
    "CCAITQ",
    "CVH",
    "ClassITQ",
    "DSH",
    "GroupITQ",
    "ITQ",
    "ITQPlus",
    "LSH",
    "LapITQPlus",
    "NeighbourHash",
    "SpectralHashing",
    "TransferITQ",
    "TwoSidedITQ",
]
