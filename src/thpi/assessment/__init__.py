"""How well a model retrieves, for what was meant, beside references: what ``thpi evaluate`` runs.

:func:`find_truth` says what is relevant, :func:`assess` searches and measures.
"""

from __future__ import annotations

from thpi.assessment._assess import assess
from thpi.assessment._assessment import Assessment, Line, Measured
from thpi.assessment._plot import draw_recall
from thpi.assessment._radius import RadiusChoice, radius_for_precision
from thpi.assessment._truth import Judged, Truth, default_neighbours, find_truth

__all__ = [
    "Assessment",
    "Judged",
    "Line",
    "Measured",
    "RadiusChoice",
    "Truth",
    "assess",
    "default_neighbours",
    "draw_recall",
    "find_truth",
    "radius_for_precision",
]
