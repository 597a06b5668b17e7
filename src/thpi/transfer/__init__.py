"""Choosing whether and how to use the source: candidates, folds and the hasher that decides.

>>> [candidate.name for candidate in candidates("target", 32) if not candidate.uses_source][:1]
['ITQ']
"""

from __future__ import annotations

import thpi.hashers  # noqa: F401  the registry first: it holds AutoHasher and is half made while it asks for it
from thpi.transfer._auto import AutoHasher
from thpi.transfer._candidates import RELEVANCES, Candidate, candidates
from thpi.transfer._folds import RELEVANT_SHARE, Folds, FoldScores
from thpi.transfer._kernel_auto import KernelAutoHasher

__all__ = [
    "AutoHasher",
    "Candidate",
    "FoldScores",
    "Folds",
    "KernelAutoHasher",
    "RELEVANCES",
    "RELEVANT_SHARE",
    "candidates",
]
