"""Ground truth, splits, selection and runs.

A question goes through the files in this order: :mod:`split` and :mod:`protocol` say which rows are what,
:mod:`selection` chooses parameters on the training pairs, :mod:`experiment` fits and measures one split,
:mod:`runner` does many, :mod:`store` keeps what was found and :mod:`statistics` compares it.
"""

from thpi.evaluation.data import DataSpec
from thpi.evaluation.experiment import PRECISION_AT, Task, measured, run_task
from thpi.evaluation.ground_truth import (
    label_relevance,
    label_relevance_blocks,
    multilabel_relevance,
    nearest_relevance,
    neighbour_radius,
    radius_relevance,
)
from thpi.evaluation.methods import MethodRun
from thpi.evaluation.pool import StorageFullError, run_all
from thpi.evaluation.protocol import PROTOCOLS, RELEVANCES, Protocol, relevance_kinds, relevance_matrix
from thpi.evaluation.runner import pending_tasks, run_tasks
from thpi.evaluation.selection import LAMBDA_GRID, Selected, SelectionRule, select_lambdas
from thpi.evaluation.split import Split, database_rows, split_rows
from thpi.evaluation.statistics import PairedDifference, paired_difference, transfer_efficiency
from thpi.evaluation.store import ResultStore, StoreWarning, config_key

__all__ = [
    "DataSpec",
    "LAMBDA_GRID",
    "MethodRun",
    "PRECISION_AT",
    "PROTOCOLS",
    "PairedDifference",
    "Protocol",
    "RELEVANCES",
    "ResultStore",
    "Selected",
    "SelectionRule",
    "Split",
    "StorageFullError",
    "StoreWarning",
    "Task",
    "config_key",
    "database_rows",
    "label_relevance",
    "label_relevance_blocks",
    "measured",
    "multilabel_relevance",
    "nearest_relevance",
    "neighbour_radius",
    "paired_difference",
    "pending_tasks",
    "radius_relevance",
    "relevance_kinds",
    "relevance_matrix",
    "run_task",
    "run_all",
    "run_tasks",
    "select_lambdas",
    "split_rows",
    "transfer_efficiency",
]
