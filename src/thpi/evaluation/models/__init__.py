"""Judging fitted models: how well one retrieves, and whether the source helps on your own pairs.

It may import auto, hashers, index, pairing and the measures. Its names are those of ``thpi.evaluation``, too.
"""

from __future__ import annotations

from thpi.evaluation.models._assess import (
    Assessment,
    Judged,
    Line,
    Truth,
    assess,
    assess_rows,
    find_truth,
    meaning_of,
)
from thpi.evaluation.models._diagnose import Answer, Diagnosis, diagnose

__all__ = [
    "Answer", "Assessment", "Diagnosis", "Judged", "Line", "Truth", "assess", "assess_rows", "diagnose",
    "find_truth", "meaning_of",
]  # fmt: skip
