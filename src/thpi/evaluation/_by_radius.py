"""Measures of the rows within a Hamming radius: lookup, precision-recall curves, and the pooled area under them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from thpi._types import Floats, Ints
from thpi.evaluation._histograms import Relevant, Retrieval
from thpi.evaluation._measure import Measure, PrecisionRecallCurve, check_integers, like, ratio

Average = Literal["pooled", "macro"]


def _within(counts: Ints, radius: ArrayLike) -> Ints:
    radii = np.minimum(check_integers(radius, name="radius", minimum=0), counts.shape[1] - 1)
    return counts.cumsum(axis=1)[:, radii]


def _lookup_precision(retrieval: Retrieval, radius: ArrayLike) -> Floats:
    h = retrieval.histograms
    return like(radius, ratio(_within(h.hist_relevant, radius), _within(h.hist_all, radius), otherwise=0.0))


def _lookup_recall(retrieval: Retrieval, radius: ArrayLike) -> Floats:
    h = retrieval.histograms
    return like(radius, ratio(_within(h.hist_relevant, radius), h.n_relevant[:, None], otherwise=np.nan))


def lookup_precision(
    queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, radius: ArrayLike
) -> Floats:
    """Share of relevant rows among those at Hamming distance <= ``radius``; an empty ball has precision 0.

    ``radius`` is an integer, for one number per query, or a list, for one column per radius.

    >>> lookup_precision([[0b0111]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=4, radius=[1, 2, 3])
    array([[0.        , 0.5       , 0.66666667]])
    """
    return _lookup_precision(Retrieval(queries, database, relevance, n_bits), radius)


def lookup_recall(
    queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, radius: ArrayLike
) -> Floats:
    """Share of a query's relevant rows at Hamming distance <= ``radius``; NaN if it has none.

    >>> lookup_recall([[0b0111]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=4, radius=[1, 2, 3])
    array([[0. , 0.5, 1. ]])
    """
    return _lookup_recall(Retrieval(queries, database, relevance, n_bits), radius)


def _pooled_curve(retrieval: Retrieval) -> PrecisionRecallCurve:
    h = retrieval.histograms
    retrieved, good = h.hist_all.sum(axis=0).cumsum(), h.hist_relevant.sum(axis=0).cumsum()
    precision, recall = ratio(good, retrieved, otherwise=0.0), ratio(good, good[-1], otherwise=np.nan)
    return PrecisionRecallCurve(np.arange(h.n_bits + 1), precision, recall)


def _macro_curve(retrieval: Retrieval) -> PrecisionRecallCurve:
    h = retrieval.histograms
    kept, radius = h.n_relevant > 0, np.arange(h.n_bits + 1)
    if not kept.any():
        return PrecisionRecallCurve(radius, *np.full((2, len(radius)), np.nan))
    retrieved, good = h.hist_all[kept].cumsum(axis=1), h.hist_relevant[kept].cumsum(axis=1)
    precision = ratio(good, retrieved, otherwise=0.0).mean(axis=0)
    return PrecisionRecallCurve(radius, precision, (good / good[:, -1:]).mean(axis=0))


_CURVES = {"pooled": _pooled_curve, "macro": _macro_curve}


def precision_recall_curve(
    queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, *, average: Average = "pooled"
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


def _pooled_area(retrieval: Retrieval) -> float:
    largest = int(np.flatnonzero(retrieval.histograms.hist_all.any(axis=0))[-1])
    curve = _pooled_curve(retrieval)
    if np.isnan(curve.recall[-1]):
        return float("nan")
    precision, recall = curve.precision[:largest], curve.recall[:largest]
    # The point (0, precision of radius 0) comes first.
    precision, recall = np.append(precision[:1], precision), np.append(np.zeros(min(1, largest)), recall)
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))


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
    return _pooled_area(Retrieval(queries, database, relevance, n_bits))


MEASURES = (
    Measure("pooled_precision_recall_area", "pooled", _pooled_area),
    Measure("lookup_precision", "query", _lookup_precision, parameter="radius"),
    Measure("lookup_recall", "query", _lookup_recall, parameter="radius"),
    *(Measure(f"precision_recall_curve_{name}", "curve", curve) for name, curve in _CURVES.items()),
)
