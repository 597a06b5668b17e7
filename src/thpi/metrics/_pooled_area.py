"""Area under the pooled precision-recall curve, which the authors' code reports as MAP."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thpi.metrics._histograms import Relevance, Retrieval
from thpi.metrics._measure import Measure
from thpi.metrics._precision_recall_curve import pooled_curve


def _area(retrieval: Retrieval) -> float:
    largest = int(np.flatnonzero(retrieval.histograms.hist_all.any(axis=0))[-1])
    curve = pooled_curve(retrieval)
    precision, recall = curve.precision[:largest], curve.recall[:largest]
    if np.isnan(curve.recall[-1]):
        return float("nan")
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))


def pooled_precision_recall_area(
    queries: npt.ArrayLike, database: npt.ArrayLike, relevance: Relevance, n_bits: int
) -> float:
    """Trapezoid area under ONE precision-recall curve, pooled over all queries by Hamming radius.

    Let m be the largest Hamming distance between a query and a database row. For each radius n = 0 .. m-1, with
    pairs counted over all queries together,

        precision(n) = good pairs at distance <= n / pairs at distance <= n      (0 if there are no pairs),
        recall(n)    = good pairs at distance <= n / good pairs,

    and the area is the trapezoid sum of precision over recall between these m points. The stretches up to recall(0)
    and beyond recall(m-1) add nothing. A radius that retrieves nothing is the point (recall 0, precision 0), so the
    stretch from it to the first radius that retrieves something counts half. The area is therefore not a mean of
    average precisions, and often several points below it. It is 0 if m < 2, and NaN without any good pair.

    >>> codes = [[0b0000], [0b0001], [0b0011], [0b0111]]  # distances 0, 1, 2, 3
    >>> pooled_precision_recall_area([[0]], codes, [[True, True, False, True]], n_bits=4)
    0.3333333333333333
    """
    return _area(Retrieval(queries, database, relevance, n_bits))


MEASURES = (Measure("pooled_precision_recall_area", "pooled", _area),)
