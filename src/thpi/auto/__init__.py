"""AutoHasher: whether and how to use the source, by cross-validation for a meaning of "relevant".

May import hashers and all that is below it, evaluation and pairing; no index, data set or command.
"""

from __future__ import annotations

from thpi.auto import _relevances  # noqa: F401  # fills RELEVANCES
from thpi.auto._auto import AutoHasher
from thpi.auto._decision import Entry
from thpi.auto._folds import Folds, FoldScores
from thpi.auto._relevance import (
    LEAST_NEAR,
    OFFERED,
    RELEVANCES,
    Candidate,
    Relevance,
    Spaces,
    candidates,
    find_relevance,
)
from thpi.auto._trial import Plan, Trial
from thpi.pairing import UnrelatedLabelsWarning, UnrelatedPairsWarning, relation

__all__ = ["LEAST_NEAR", "OFFERED", "RELEVANCES", "AutoHasher", "Candidate", "Entry", "FoldScores", "Folds", "Plan"]
__all__ += ["Relevance", "Spaces", "Trial", "UnrelatedLabelsWarning", "UnrelatedPairsWarning", "candidates"]
__all__ += ["find_relevance", "relation"]
