"""Measures of retrieval quality from packed codes.

Every measure is exact and computed from each query's histogram of Hamming distances. The histograms take one pass
over the codes, in blocks of bounded memory. Tied rows (equal distance) count as randomly ordered unless a measure
says otherwise. ``MEASURES`` lists all measures by the names that :func:`evaluate` accepts.
"""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from thpi.metrics import _at_k, _average_precision, _by_radius
from thpi.metrics._at_k import ndcg_at_k, precision_at_k, recall_at_k
from thpi.metrics._average_precision import average_precision, mean_average_precision, ranked_average_precision
from thpi.metrics._by_radius import (
    lookup_precision,
    lookup_recall,
    pooled_precision_recall_area,
    precision_recall_curve,
)
from thpi.metrics._histograms import DistanceHistograms, Relevance, Retrieval, distance_histograms
from thpi.metrics._measure import Measure, PrecisionRecallCurve, QueryMean, Value, query_mean

__all__ = [
    "MEASURES",
    "DistanceHistograms",
    "Measure",
    "PrecisionRecallCurve",
    "QueryMean",
    "average_precision",
    "distance_histograms",
    "evaluate",
    "lookup_precision",
    "lookup_recall",
    "mean_average_precision",
    "ndcg_at_k",
    "pooled_precision_recall_area",
    "precision_at_k",
    "precision_recall_curve",
    "query_mean",
    "ranked_average_precision",
    "recall_at_k",
]

MEASURES: dict[str, Measure] = {
    measure.name: measure for module in (_average_precision, _at_k, _by_radius) for measure in module.MEASURES
}
"""The measures by name."""


def evaluate(
    queries: ArrayLike,
    database: ArrayLike,
    relevance: Relevance,
    n_bits: int,
    measures: Iterable[str] = ("average_precision", "pooled_precision_recall_area"),
    *,
    gain: str = "linear",
) -> dict[str, Value]:
    """Compute several measures in one pass over the codes.

    A name is one of ``MEASURES``, with its parameter (k or radius), if any, after "@": ``"precision@10"``,
    ``"lookup_precision@2"``. The value under each name is an array with one number per query (NaN where it is
    undefined), a float for pooled measures, or a :class:`PrecisionRecallCurve`. ``gain`` is the gain of NDCG.

    >>> codes = [[0b00], [0b01], [0b10]]
    >>> evaluate([[0b00]], codes, [[True, False, True]], 2, ["average_precision", "precision@2"])
    {'average_precision': array([0.91666667]), 'precision@2': array([0.75])}
    """
    if isinstance(measures, str):
        raise ValueError(f"measures={measures!r} must be a list of names, not one string.")
    requests = [(name, *_parse(name)) for name in measures]
    retrieval = Retrieval(queries, database, relevance, n_bits, gain=gain)
    return {name: measure.compute(retrieval, *arguments) for name, measure, arguments in requests}


def _parse(name: str) -> tuple[Measure, tuple[int, ...]]:
    base, at, number = name.partition("@")
    if base not in MEASURES:
        raise ValueError(f"measures has {name!r}; the measures are {sorted(MEASURES)}.")
    measure = MEASURES[base]
    if measure.parameter is None:
        if at:
            raise ValueError(f"measures has {name!r}, but {base!r} takes no parameter.")
        return measure, ()
    if not number.isdecimal():
        raise ValueError(f"measures has {name!r}; write {measure.parameter} as in '{base}@10'.")
    return measure, (int(number),)
