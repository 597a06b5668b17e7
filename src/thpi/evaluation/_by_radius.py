"""Rows within a Hamming radius: lookup, precision-recall curves and their area, and a radius for a wished precision."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from thpi._types import Floats, Ints, Seed
from thpi.evaluation._histograms import DistanceHistograms, Relevant, Retrieval
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


def _pooled(hist_all: Ints, hist_relevant: Ints, otherwise: float) -> tuple[Floats, Floats, Ints]:
    """Precision and recall by radius, of pairs of all queries, and how many are found; NaN if nothing is relevant."""
    found, good = hist_all.sum(axis=0).cumsum(), hist_relevant.sum(axis=0).cumsum()
    return ratio(good, found, otherwise=otherwise), ratio(good, good[-1], otherwise=np.nan), found


def _pooled_curve(retrieval: Retrieval) -> PrecisionRecallCurve:
    h = retrieval.histograms
    return PrecisionRecallCurve(np.arange(h.n_bits + 1), *_pooled(h.hist_all, h.hist_relevant, 0.0)[:2])


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


class RadiusChoice(NamedTuple):
    """The radius chosen on one half of the queries, and what it gives on the other half.

    ``radius`` is None if none reaches the wish; ``reached`` is then the best precision of any radius on the first half,
    else that of the radius. ``precision`` and ``recall`` are those of the other half, ``found`` the number of rows
    within the radius there. Values are NaN where there is nothing to divide by.
    """

    wish: float
    radius: int | None
    reached: float
    precision: float
    recall: float
    found: int
    n_choosing: int
    n_measuring: int

    def __str__(self) -> str:
        if self.radius is None:
            best = f"The best is {100 * self.reached:.1f} %." if self.reached == self.reached else "Nothing is found."
            return f"No radius reaches a precision of {100 * self.wish:g} % on {self.n_choosing:,} queries. {best}"
        text = f"Radius {self.radius} is the largest with a precision of at least {100 * self.wish:g} %"
        text += f" on {self.n_choosing:,} of the queries. On the other {self.n_measuring:,} it "
        if not self.found:
            return f"{text}finds nothing."
        recall = "" if self.recall != self.recall else f" and a recall of {100 * self.recall:.1f} %"
        below = ", less than wished," if self.precision < self.wish else ""
        return f"{text}has a precision of {100 * self.precision:.1f} %{below}{recall} ({self.found:,} rows found)."


def radius_for_precision(
    histograms: DistanceHistograms, precision: float, *, random_state: Seed = None
) -> RadiusChoice:
    """Choose the largest Hamming radius whose precision is at least ``precision``, which is in (0, 1].

    Precision and recall are pooled: pairs of a query and a row are counted over all queries, also over those that have
    no relevant row. A random half of the queries chooses, the other half measures: the precision of the half that
    chose is too good.

    >>> from thpi.evaluation import distance_histograms
    >>> relevant = [[True, True, False]] * 4
    >>> h = distance_histograms([[0]] * 4, [[0b0], [0b1], [0b11]], relevant, n_bits=2)
    >>> choice = radius_for_precision(h, 0.9, random_state=0)
    >>> choice.radius, choice.precision, choice.recall
    (1, 1.0, 1.0)
    """
    n = len(histograms.hist_all)
    check_precision(precision, n)
    order = check_random_state(random_state).permutation(n)
    choosing, measuring = order[: n // 2], order[n // 2 :]
    # NaN where nothing is found.
    halves = [
        _pooled(histograms.hist_all[half], histograms.hist_relevant[half], np.nan) for half in (choosing, measuring)
    ]
    reached = halves[0][0]
    enough = np.flatnonzero(reached >= precision)  # NaN is not
    if not len(enough):
        best = float(np.nanmax(reached)) if not np.isnan(reached).all() else np.nan
        return RadiusChoice(precision, None, best, np.nan, np.nan, 0, len(choosing), len(measuring))
    radius = int(enough[-1])
    value, recall, found = (each[radius] for each in halves[1])
    measured = float(value), float(recall), int(found)
    return RadiusChoice(precision, radius, float(reached[radius]), *measured, len(choosing), len(measuring))


def check_precision(precision: float | None, n_queries: int) -> None:
    """Refuse a wish that cannot be met, or measured."""
    if precision is not None and not 0 < precision <= 1:
        raise ValueError(f"precision={precision!r} must be greater than 0 and at most 1.")
    if precision is not None and n_queries < 2:
        raise ValueError(f"precision={precision!r} needs at least 2 queries, one half to choose and one to measure.")
