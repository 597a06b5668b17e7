"""Measures of the first K rows of Hamming rankings: precision, recall, and NDCG for graded relevance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from thpi._types import Floats, Ints
from thpi.evaluation._histograms import DistanceHistograms, Gain, Relevant, Retrieval
from thpi.evaluation._measure import Measure, RankSums, check_integers, like, ratio


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


def _precision_at_k(retrieval: Retrieval, k: ArrayLike) -> Floats:
    cuts = check_integers(k, name="k", minimum=1)
    return like(k, _expected_relevant(retrieval.histograms, cuts) / cuts)


def _recall_at_k(retrieval: Retrieval, k: ArrayLike) -> Floats:
    h = retrieval.histograms
    found = _expected_relevant(h, check_integers(k, name="k", minimum=1))
    return like(k, ratio(found, h.n_relevant[:, None], otherwise=np.nan))


def precision_at_k(queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, k: ArrayLike) -> Floats:
    """Precision among the first ``k`` rows of each query, expected over random orders of tied rows.

    ``k`` is an integer, for one number per query, or a list, for one column per k. The count is divided by k even if
    k > n_database, as in trec_eval.

    >>> precision_at_k([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2, k=[1, 2, 4])
    array([[1.  , 0.75, 0.5 ]])
    """
    return _precision_at_k(Retrieval(queries, database, relevance, n_bits), k)


def recall_at_k(queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, k: ArrayLike) -> Floats:
    """Share of a query's relevant rows among its first ``k``, expected over random orders of tied rows.

    ``k`` is as in :func:`precision_at_k`. A query without relevant rows has NaN.

    >>> recall_at_k([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2, k=[1, 2, 4])
    array([[0.5 , 0.75, 1.  ]])
    """
    return _recall_at_k(Retrieval(queries, database, relevance, n_bits), k)


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


def _ndcg_at_k(retrieval: Retrieval, k: ArrayLike) -> Floats:
    h = retrieval.histograms
    cuts = np.minimum(check_integers(k, name="k", minimum=1), h.n_database)
    sums = RankSums(1.0 / np.log2(np.arange(2, int(cuts.max()) + 2)))
    columns = [ratio(_dcg(h, c, sums), _ideal_dcg(h, c, sums), otherwise=np.nan) for c in cuts.tolist()]
    return like(k, np.stack(columns, axis=1))


def ndcg_at_k(
    queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, k: ArrayLike, *, gain: Gain = "linear"
) -> Floats:
    """NDCG of the first ``k`` rows of each query, expected over random orders of tied rows.

        DCG(k) = sum_{i=1..k} g_i / log2(1 + i),      NDCG(k) = DCG(k) / DCG(k) of the best order,

    where g_i is the grade of the row at rank i (``gain="linear"``) or 2^grade - 1 (``"exponential"``). ``k`` is
    an integer, for one number per query, or a list, for one column per k. A query whose grades are all 0 has NaN.

    >>> codes = [[0b00], [0b01], [0b10]]  # distances 0, 1, 1
    >>> ndcg_at_k([[0b00]], codes, [[2, 0, 1]], n_bits=2, k=[1, 3]).round(6)
    array([[1.      , 0.975117]])
    """
    return _ndcg_at_k(Retrieval(queries, database, relevance, n_bits, gain=gain), k)


MEASURES = (
    Measure("precision", "query", _precision_at_k, parameter="k"),
    Measure("recall", "query", _recall_at_k, parameter="k"),
    Measure("ndcg", "query", _ndcg_at_k, parameter="k"),
)
