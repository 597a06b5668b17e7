"""The hashing methods, one file each, and the geometry in which most of them learn, which AutoHasher shares.

May import solvers, kernels, rows, codes, graph, the query side and base; no evaluation, data set or command.
"""

from __future__ import annotations

from thpi.base import BaseHasher
from thpi.hashers._baselines import DSH, LSH, SpectralHashing
from thpi.hashers._cca import CCAITQ, CVH
from thpi.hashers._class_itq import ClassITQ, class_indicators
from thpi.hashers._geometry import Geometry, GeometryLearner, Learned, Limits, Steps
from thpi.hashers._group_itq import GroupITQ
from thpi.hashers._itq import ITQ, KernelGeometry, KernelKind, ViewGeometry, learn
from thpi.hashers._itq_plus import ITQPlus, LapITQPlus
from thpi.hashers._neighbour_hash import NeighbourHash
from thpi.hashers._source_features import SourceFeatures
from thpi.hashers._transfer_itq import TransferITQ
from thpi.hashers._two_sided_itq import TwoSidedITQ, predicted_source

METHODS: tuple[type[BaseHasher], ...] = (
    *(LSH, SpectralHashing, DSH, ITQ, CVH, CCAITQ),
    *(ITQPlus, LapITQPlus),
    *(TransferITQ, ClassITQ, GroupITQ, NeighbourHash, TwoSidedITQ),
)
"""From the plainest over the paper's to those that choose; adding a method is one line above and its name here."""

__all__ = ["CCAITQ", "CVH", "DSH", "ITQ", "LSH", "METHODS", "ClassITQ", "GroupITQ", "ITQPlus", "LapITQPlus"]
__all__ += ["NeighbourHash", "SpectralHashing", "TransferITQ", "TwoSidedITQ"]
__all__ += ["Geometry", "GeometryLearner", "KernelGeometry", "KernelKind", "Learned", "Limits", "SourceFeatures"]
__all__ += ["Steps", "ViewGeometry", "class_indicators", "learn", "predicted_source"]
