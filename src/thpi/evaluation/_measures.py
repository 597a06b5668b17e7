"""The measures, each exact and from the histograms of distances: average precision, the first K rows, and radii."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from thpi._types import Floats, Ints
from thpi.evaluation._histograms import DistanceHistograms, Gain, Relevant, distance_histograms

Value: TypeAlias = "Floats | float | PrecisionRecallCurve"


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall of the rows at distance <= ``radius``, for each radius 0..n_bits."""

    radius: Ints
    precision: Floats
    recall: Floats


class Measure(NamedTuple):
    """One entry of the table of measures.

    ``scope`` is the kind of result: one number per query, one number pooled over queries, or a curve.
    ``compute`` takes :class:`DistanceHistograms` and, if ``parameter`` is given, one integer (``name@integer``).
    """

    name: str
    scope: Literal["query", "pooled", "curve"]
    compute: Callable[..., Value]
    parameter: str | None = None


class QueryMean(NamedTuple):
    """A mean over queries, and the number of queries without a value; ``float()`` gives the mean."""

    value: float
    n_queries: int
    n_empty: int

    def __float__(self) -> float:
        return self.value


def query_mean(values: ArrayLike) -> QueryMean:
    """Average a measure over queries, without those that have NaN: no row is relevant to them.

    >>> query_mean([1.0, 0.5, np.nan])
    QueryMean(value=0.75, n_queries=3, n_empty=1)
    """
    array = np.asarray(values, dtype=np.float64)
    kept = array[~np.isnan(array)]
    return QueryMean(float(kept.mean()) if kept.size else math.nan, array.size, array.size - kept.size)


def _cuts(k: ArrayLike) -> Ints:
    array = np.atleast_1d(np.asarray(k))
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array < 1).any():
        raise ValueError(f"k={k!r} must be an integer >= 1, or a list of them.")
    return array.astype(np.int64)


def _like(k: ArrayLike, columns: Floats) -> Floats:
    """Drop the column axis if ``k`` is one integer, not a list."""
    return columns[:, 0] if np.ndim(k) == 0 else columns


def ratio(numerator: ArrayLike, denominator: ArrayLike, *, otherwise: float) -> Floats:
    """Divide, with ``otherwise`` where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    result = np.full(top.shape, otherwise)
    np.divide(top, bottom, out=result, where=bottom != 0)
    return result


class RankSums:
    """Running sums of the weights of ranks 1, 2, ..., stored as a sum and its rounding error.

    At rank 1,000,000 the rounding error of a plain running sum is far above that of one weight, and the closed forms
    multiply it by the rank. The error of each addition is itself a float (Knuth's two-sum), so it is subtracted too.
    """

    def __init__(self, weights: Floats) -> None:
        self.high: Floats = np.concatenate(([0.0], np.cumsum(weights)))
        before, after = self.high[:-1], self.high[1:]
        virtual = after - before
        error = (before - (after - virtual)) + (weights - virtual)
        self.low: Floats = np.concatenate(([0.0], np.cumsum(error)))

    def between(self, start: Ints, stop: Ints) -> Floats:
        """Sum the weights of ranks ``start + 1 .. stop``."""
        return np.asarray((self.high[stop] - self.high[start]) + (self.low[stop] - self.low[start]))


def harmonic(n: int) -> RankSums:
    """Running sums of ``1 / rank`` up to rank ``n``: the harmonic numbers."""
    return RankSums(1.0 / np.arange(1, n + 1))


def _average_precision(h: DistanceHistograms) -> Floats:
    t, r = h.hist_all, h.hist_relevant
    a, R = t.cumsum(axis=1) - t, r.cumsum(axis=1) - r
    return ratio(expected_precisions(t, r, a, R, harmonic(h.n_database)).sum(axis=1), h.n_relevant, otherwise=np.nan)


def expected_precisions(t: Ints, r: Ints, a: Ints, R: Ints, sums: RankSums) -> Floats:
    """Expected sum of precisions at the relevant rows of each tie group; see :func:`average_precision`."""
    inverse_ranks = sums.between(a, a + t)
    slope = ratio(r - 1, t - 1, otherwise=0.0)
    # Without relevant rows in the group, the factor r / t makes the term 0.
    return ratio(r, t, otherwise=0.0) * ((R + 1) * inverse_ranks + slope * (t - (a + 1) * inverse_ranks))


def average_precision(queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int) -> Floats:
    r"""Average precision of each query over the whole Hamming ranking; NaN if no row is relevant to it.

    AP is the mean, over the relevant rows, of the precision at their ranks. Rows at the same distance are tied, and
    this is the expected value over all their orders, each equally likely. Other orders are other distances: with d from
    :func:`thpi.codes.hamming_distances`, ``ranked_average_precision(2 * d - relevance, relevance)`` is the best case.

    The closed form (McSherry & Najork, ECIR 2008): let a group of t tied rows with r relevant take ranks a+1 .. a+t,
    after R relevant rows. The row at rank a+j is relevant with probability r/t; given that, each of the j-1 group
    members before it is relevant with probability (r-1)/(t-1). So the group adds

        sum_{j=1..t}  r/t (R + 1 + (j-1) (r-1)/(t-1)) / (a+j)
            = r/t ( (R+1) h + (r-1)/(t-1) (t - (a+1) h) ),     h = sum_{j=1..t} 1/(a+j),

    because (j-1)/(a+j) = 1 - (a+1)/(a+j). With harmonic numbers h is one subtraction, so a query costs O(n_bits).

    >>> codes = [[0b00], [0b01], [0b10]]  # distances 0, 1, 1
    >>> average_precision([[0b00]], codes, [[False, True, False]], n_bits=2)
    array([0.41666667])
    """
    return _average_precision(distance_histograms(queries, database, relevance, n_bits))


def mean_average_precision(queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int) -> QueryMean:
    """Mean of :func:`average_precision` over queries, by :func:`query_mean`.

    >>> mean_average_precision([[0], [1]], [[0], [3]], [[True, False], [False, False]], n_bits=2)
    QueryMean(value=1.0, n_queries=2, n_empty=1)
    """
    return query_mean(average_precision(queries, database, relevance, n_bits))


def average_precision_among(codes: ArrayLike, relevance: Relevant, n_bits: int) -> Floats:
    """Average precision of each code as a query among all others, expected under ties; NaN if none is relevant to it.

    The diagonal of ``relevance`` must be false.

    >>> average_precision_among([[0b00], [0b01], [0b11]], [[0, 0, 1], [0, 0, 0], [1, 0, 0]], n_bits=2)
    array([0.5, nan, 0.5])
    """
    h = distance_histograms(codes, codes, relevance, n_bits)
    others = h.hist_all.copy()
    others[:, 0] -= 1  # the row itself is no answer
    return _average_precision(DistanceHistograms(others, h.hist_relevant))


def _expected_relevant(h: DistanceHistograms, k: Ints) -> Floats:
    """Expected number of relevant rows among the first ``k`` of each query, shape ``(n_queries, len(k))``.

    If rank k falls into a group of t tied rows, r of them relevant, on ranks a+1 .. a+t, the group adds (k-a) r/t.
    """
    upto, relevant = h.hist_all.cumsum(axis=1), h.hist_relevant.cumsum(axis=1)
    queries, columns = np.arange(len(upto)), []
    for cut in np.minimum(k, h.n_database):
        group = (upto < cut).sum(axis=1)  # the group that holds rank ``cut``
        t, r = h.hist_all[queries, group], h.hist_relevant[queries, group]
        left_out = upto[queries, group] - cut
        columns.append(relevant[queries, group] - left_out * r / t)
    return np.stack(columns, axis=1)


def _precision_at_k(h: DistanceHistograms, k: ArrayLike) -> Floats:
    cuts = _cuts(k)
    return _like(k, _expected_relevant(h, cuts) / cuts)


def _recall_at_k(h: DistanceHistograms, k: ArrayLike) -> Floats:
    return _like(k, ratio(_expected_relevant(h, _cuts(k)), h.n_relevant[:, None], otherwise=np.nan))


def precision_at_k(queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, k: ArrayLike) -> Floats:
    """Precision among the first ``k`` rows of each query, expected over random orders of tied rows.

    ``k`` is an integer, for one number per query, or a list, for one column per k. The count is divided by k even if
    k > n_database, as in trec_eval.

    >>> precision_at_k([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2, k=[1, 2, 4])
    array([[1.  , 0.75, 0.5 ]])
    """
    return _precision_at_k(distance_histograms(queries, database, relevance, n_bits), k)


def recall_at_k(queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, k: ArrayLike) -> Floats:
    """Share of a query's relevant rows among its first ``k``, expected over random orders of tied rows.

    ``k`` is as in :func:`precision_at_k`. A query without relevant rows has NaN.

    >>> recall_at_k([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2, k=[1, 2, 4])
    array([[0.5 , 0.75, 1.  ]])
    """
    return _recall_at_k(distance_histograms(queries, database, relevance, n_bits), k)


def _dcg(h: DistanceHistograms, cut: int, sums: RankSums) -> Floats:
    """Expected DCG: each rank of a tie group has the mean gain of the group."""
    gain = h.hist_relevant if h.hist_gain is None else h.hist_gain
    stop = h.hist_all.cumsum(axis=1)
    start = stop - h.hist_all
    discounts = sums.between(np.minimum(start, cut), np.minimum(stop, cut))
    return np.asarray((ratio(gain, h.hist_all, otherwise=0.0) * discounts).sum(axis=1))


def _ideal_dcg(h: DistanceHistograms, cut: int, sums: RankSums) -> Floats:
    if h.ideal is None:
        stop = np.minimum(h.n_relevant, cut)
        return sums.between(np.zeros_like(stop), stop)
    best = []
    for levels, times in h.ideal:
        stop = times.cumsum()
        best.append(float(levels @ sums.between(np.minimum(stop - times, cut), np.minimum(stop, cut))))
    return np.array(best)


def _ndcg_at_k(h: DistanceHistograms, k: ArrayLike) -> Floats:
    cuts = np.minimum(_cuts(k), h.n_database)
    sums = RankSums(1.0 / np.log2(np.arange(2, int(cuts.max()) + 2)))
    columns = [ratio(_dcg(h, c, sums), _ideal_dcg(h, c, sums), otherwise=np.nan) for c in cuts.tolist()]
    return _like(k, np.stack(columns, axis=1))


def ndcg_at_k(
    queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, k: ArrayLike, *, gain: Gain = "linear"
) -> Floats:
    """NDCG of the first ``k`` rows of each query, expected over random orders of tied rows.

        DCG(k) = sum_{i=1..k} g_i / log2(1 + i),      NDCG(k) = DCG(k) / DCG(k) of the best order,

    where g_i is the grade of the row at rank i (``gain="linear"``) or 2^grade - 1 (``"exponential"``). ``k`` is as in
    :func:`precision_at_k`. A query whose grades are all 0 has NaN.

    >>> codes = [[0b00], [0b01], [0b10]]  # distances 0, 1, 1
    >>> ndcg_at_k([[0b00]], codes, [[2, 0, 1]], n_bits=2, k=[1, 3]).round(6)
    array([[1.      , 0.975117]])
    """
    return _ndcg_at_k(distance_histograms(queries, database, relevance, n_bits, gain=gain), k)


def _lookup_precision(h: DistanceHistograms, radius: int) -> Floats:
    found, good = h.within(radius)
    return ratio(good, found, otherwise=0.0)


def _lookup_recall(h: DistanceHistograms, radius: int) -> Floats:
    return ratio(h.within(radius)[1], h.n_relevant, otherwise=np.nan)


def pooled(hist_all: Ints, hist_relevant: Ints, otherwise: float) -> tuple[Floats, Floats, Ints]:
    """Precision and recall by radius, of pairs of all queries, and how many are found; NaN if nothing is relevant."""
    found, good = hist_all.sum(axis=0).cumsum(), hist_relevant.sum(axis=0).cumsum()
    return ratio(good, found, otherwise=otherwise), ratio(good, good[-1], otherwise=np.nan), found


def _curve(h: DistanceHistograms) -> PrecisionRecallCurve:
    return PrecisionRecallCurve(np.arange(h.n_bits + 1), *pooled(h.hist_all, h.hist_relevant, 0.0)[:2])


def precision_recall_curve(
    queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int
) -> PrecisionRecallCurve:
    """Precision and recall of hash lookup at each Hamming radius 0..n_bits.

    (Query, row) pairs are counted over all queries and divided once, as in the authors' evaluation; the means over
    queries are the measures ``lookup_precision`` and ``lookup_recall``. Precision is 0 where nothing is retrieved;
    recall is NaN without any relevant pair.

    >>> curve = precision_recall_curve([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2)
    >>> curve.precision, curve.recall
    (array([1.        , 0.66666667, 0.66666667]), array([0.5, 1. , 1. ]))
    """
    return _curve(distance_histograms(queries, database, relevance, n_bits))


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("average_precision", "query", _average_precision),
        Measure("mean_average_precision", "pooled", lambda h: query_mean(_average_precision(h)).value),
        Measure("precision", "query", _precision_at_k, parameter="k"),
        Measure("recall", "query", _recall_at_k, parameter="k"),
        Measure("ndcg", "query", _ndcg_at_k, parameter="k"),
        Measure("lookup_precision", "query", _lookup_precision, parameter="radius"),
        Measure("lookup_recall", "query", _lookup_recall, parameter="radius"),
        Measure("precision_recall_curve", "curve", _curve),
    )
}
"""The measures by name; a further :class:`Measure` that is put here can be asked for everywhere."""
