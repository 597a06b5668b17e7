"""Choosing whether and how to use the source: meanings of "relevant", candidates, folds, and the hashers that decide.

>>> str(candidates("target")[-1])
'ITQ without source'
"""

from __future__ import annotations

from thpi.auto._auto import AutoHasher
from thpi.auto._decision import Entry
from thpi.auto._folds import Folds, FoldScores
from thpi.auto._relevance import LEAST_NEAR, Candidate, Relevance, Spaces, source_groups
from thpi.auto._relevances import OFFERED, RELEVANCES, candidates, find_relevance
from thpi.auto._trial import Plan, Trial
from thpi.pairing._relation import UnrelatedLabelsWarning, UnrelatedPairsWarning, relation

__all__ = [
    "AutoHasher",
    "Candidate",
    "Entry",
    "FoldScores",
    "Folds",
    "LEAST_NEAR",
    "OFFERED",
    "Plan",
    "RELEVANCES",
    "Relevance",
    "Spaces",
    "Trial",
    "UnrelatedLabelsWarning",
    "UnrelatedPairsWarning",
    "candidates",
    "find_relevance",
    "relation",
    "source_groups",
]
