"""Precision and recall by Hamming radius, pooled over queries or averaged."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from thpi._types import Floats, Ints
from thpi.metrics._histograms import Relevance, Retrieval
from thpi.metrics._measure import Measure, ratio


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall of the rows at distance <= ``radius``, for each radius 0..n_bits."""

    radius: Ints
    precision: Floats
    recall: Floats


def pooled_curve(retrieval: Retrieval) -> PrecisionRecallCurve:
    """Count pairs over all queries, then divide."""
    h = retrieval.histograms
    retrieved, good = h.hist_all.sum(axis=0).cumsum(), h.hist_relevant.sum(axis=0).cumsum()
    precision, recall = ratio(good, retrieved, otherwise=0.0), ratio(good, good[-1], otherwise=np.nan)
    return PrecisionRecallCurve(np.arange(h.n_bits + 1), precision, recall)


def macro_curve(retrieval: Retrieval) -> PrecisionRecallCurve:
    """Divide for each query, then average."""
    h = retrieval.histograms
    kept = h.n_relevant > 0
    radius = np.arange(h.n_bits + 1)
    if not kept.any():
        return PrecisionRecallCurve(radius, *np.full((2, len(radius)), np.nan))
    retrieved, good = h.hist_all[kept].cumsum(axis=1), h.hist_relevant[kept].cumsum(axis=1)
    precision = ratio(good, retrieved, otherwise=0.0).mean(axis=0)
    return PrecisionRecallCurve(radius, precision, (good / good[:, -1:]).mean(axis=0))


_CURVES = {"pooled": pooled_curve, "macro": macro_curve}


def precision_recall_curve(
    queries: npt.ArrayLike,
    database: npt.ArrayLike,
    relevance: Relevance,
    n_bits: int,
    *,
    average: Literal["pooled", "macro"] = "pooled",
) -> PrecisionRecallCurve:
    """Precision and recall of hash lookup at each Hamming radius 0..n_bits.

    ``"pooled"`` counts (query, row) pairs over all queries and divides once, as in the authors' evaluation.
    ``"macro"`` is the mean of the curves of all queries with relevant rows. Precision is 0 where nothing is
    retrieved; recall is NaN without any relevant pair.

    >>> curve = precision_recall_curve([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2)
    >>> curve.precision, curve.recall
    (array([1.        , 0.66666667, 0.66666667]), array([0.5, 1. , 1. ]))
    """
    if average not in _CURVES:
        raise ValueError(f"average={average!r} must be one of {list(_CURVES)}.")
    return _CURVES[average](Retrieval(queries, database, relevance, n_bits))


MEASURES = tuple(Measure(f"precision_recall_curve_{name}", "curve", curve) for name, curve in _CURVES.items())
