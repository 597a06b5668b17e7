"""Ground truth, splits, selection and statistics."""

from __future__ import annotations

from thpi.evaluation.ground_truth import (
    label_relevance,
    label_relevance_blocks,
    multilabel_relevance,
    nearest_relevance,
    neighbour_radius,
    radius_relevance,
)
from thpi.evaluation.statistics import PairedDifference, paired_difference

__all__ = ["PairedDifference", "label_relevance", "label_relevance_blocks", "multilabel_relevance", "nearest_relevance", "neighbour_radius", "paired_difference", "radius_relevance"]
