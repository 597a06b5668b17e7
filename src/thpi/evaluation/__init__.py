"""How well codes and models retrieve: what is relevant, measures, splits, and whether the source helps.

Measures know codes and arrays, and may import kernels and codes alone, because the learners import them. What judges
fitted models is in ``evaluation.models``, and is found here when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thpi.evaluation._evaluate import (
    RadiusChoice,
    evaluate,
    evaluate_distances,
    parse_measure,
    radius_for_precision,
    ranked_average_precision,
)
from thpi.evaluation._histograms import DistanceHistograms, Relevant, distance_histograms
from thpi.evaluation._measures import (
    MEASURES,
    Measure,
    PrecisionRecallCurve,
    QueryMean,
    average_precision,
    average_precision_among,
    mean_average_precision,
    ndcg_at_k,
    precision_at_k,
    precision_recall_curve,
    query_mean,
    recall_at_k,
)
from thpi.evaluation._relevance import (
    label_relevance,
    multilabel_relevance,
    nearest_relevance,
    neighbour_radius,
    radius_relevance,
)
from thpi.evaluation._splits import (
    Measured,
    PairedDifference,
    Split,
    database_rows,
    measured,
    paired_difference,
    split_rows,
)

if TYPE_CHECKING:
    from thpi.evaluation.models import (
        Answer,
        Assessment,
        Diagnosis,
        Judged,
        Line,
        Truth,
        assess,
        assess_rows,
        diagnose,
        find_truth,
        meaning_of,
    )

__all__ = [
    "MEASURES", "Answer", "Assessment", "Diagnosis", "DistanceHistograms", "Judged", "Line", "Measure", "Measured",
    "PairedDifference", "PrecisionRecallCurve", "QueryMean", "RadiusChoice", "Relevant", "Split", "Truth", "assess",
    "assess_rows", "average_precision", "average_precision_among", "database_rows", "diagnose",
    "distance_histograms", "evaluate", "evaluate_distances", "find_truth", "label_relevance",
    "mean_average_precision", "meaning_of", "measured", "multilabel_relevance", "ndcg_at_k", "nearest_relevance",
    "neighbour_radius", "paired_difference", "parse_measure", "precision_at_k", "precision_recall_curve",
    "query_mean", "radius_for_precision", "radius_relevance", "ranked_average_precision", "recall_at_k",
    "split_rows",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'thpi.evaluation' has no attribute {name!r}")
    value = getattr(import_module("thpi.evaluation.models"), name)
    globals()[name] = value
    return value
