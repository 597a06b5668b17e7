"""The measure of the follow-up, called MAP in the authors' code; importing this file adds it to the measures."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from thpi.evaluation import MEASURES, DistanceHistograms, Measure, PrecisionRecallCurve, Relevant, evaluate

AREA = "pooled_precision_recall_area"


def _area(histograms: DistanceHistograms) -> float:
    largest = int(np.flatnonzero(histograms.hist_all.any(axis=0))[-1])
    curve = MEASURES["precision_recall_curve"].compute(histograms)
    assert isinstance(curve, PrecisionRecallCurve)
    if np.isnan(curve.recall[-1]):
        return float("nan")
    precision, recall = curve.precision[:largest], curve.recall[:largest]
    # The point (0, precision of radius 0) comes first.
    precision, recall = np.append(precision[:1], precision), np.append(np.zeros(min(1, largest)), recall)
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))


MEASURES[AREA] = Measure(AREA, "pooled", _area)


def pooled_precision_recall_area(queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int) -> float:
    """Trapezoid area under ONE precision-recall curve, pooled over all queries by Hamming radius.

    Let m be the largest Hamming distance between a query and a database row. For each radius n = 0 .. m-1, with
    pairs counted over all queries together,

        precision(n) = good pairs at distance <= n / pairs at distance <= n      (0 if there are no pairs),
        recall(n)    = good pairs at distance <= n / good pairs,

    and the area is the trapezoid sum of precision over recall between these m points. The point (recall 0,
    precision(0)) is put before them, so the stretch up to recall(0) has the height precision(0). The stretch beyond
    recall(m-1) adds nothing. A radius that retrieves nothing is the point (recall 0, precision 0), so the stretch from
    it to the first radius that retrieves something counts half. The area is therefore not a mean of average
    precisions, and often several points below it. It is 0 if m is 0, and NaN without any good pair.

    >>> codes = [[0b0000], [0b0001], [0b0011], [0b0111]]  # distances 0, 1, 2, 3
    >>> pooled_precision_recall_area([[0]], codes, [[True, True, False, True]], n_bits=4)
    0.6666666666666666
    """
    area = evaluate(queries, database, relevance, n_bits, [AREA])[AREA]
    assert isinstance(area, float)
    return area
