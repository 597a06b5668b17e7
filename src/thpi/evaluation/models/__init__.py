"""Judging fitted models: how well one retrieves, and whether the source helps on your own pairs.

It may import auto, hashers, index, pairing and the measures. Its names are those of ``thpi.evaluation``, too.
"""

from __future__ import annotations

from thpi.evaluation.models._assess import Assessment, Line, assess, assess_rows
from thpi.evaluation.models._diagnose import Answer, Diagnosis, diagnose
from thpi.evaluation.models._truth import Judged, Truth, find_truth, meaning_of

__all__ = [
    "Answer", "Assessment", "Diagnosis", "Judged", "Line", "Truth", "assess", "assess_rows", "diagnose",
    "find_truth", "meaning_of",
]  # fmt: skip
