"""Evaluating codes: ground truth, splits of the rows, selection of parameters, comparison of methods over splits."""

from thpi.evaluation.selection import LAMBDA_GRID, Selected, SelectionRule, select_lambdas
from thpi.evaluation.splits import (
    PairedDifference,
    Split,
    database_rows,
    paired_difference,
    split_rows,
    transfer_efficiency,
)
from thpi.ground_truth import (
    label_relevance,
    label_relevance_blocks,
    multilabel_relevance,
    nearest_relevance,
    neighbour_radius,
    radius_relevance,
)

__all__ = [
    "LAMBDA_GRID",
    "PairedDifference",
    "Selected",
    "SelectionRule",
    "Split",
    "database_rows",
    "label_relevance",
    "label_relevance_blocks",
    "multilabel_relevance",
    "nearest_relevance",
    "neighbour_radius",
    "paired_difference",
    "radius_relevance",
    "select_lambdas",
    "split_rows",
    "transfer_efficiency",
]
