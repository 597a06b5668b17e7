"""Normalised discounted cumulative gain of Hamming rankings with graded relevance."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from thpi._types import Floats
from thpi.metrics._histograms import DistanceHistograms, Relevance, Retrieval
from thpi.metrics._measure import Measure, RankSums, check_integers, like, ratio


def _dcg(h: DistanceHistograms, cut: int, sums: RankSums) -> Floats:
    """Expected DCG: each rank of a tie group has the mean gain of the group."""
    gain = h.hist_relevant if h.hist_gain is None else h.hist_gain
    stop = h.hist_all.cumsum(axis=1)
    start = stop - h.hist_all
    discounts = sums.between(np.minimum(start, cut), np.minimum(stop, cut))
    return np.asarray((ratio(gain, h.hist_all, otherwise=0.0) * discounts).sum(axis=1))


def _ideal_dcg(h: DistanceHistograms, cut: int, sums: RankSums) -> Floats:
    """DCG of the rows in order of their gains."""
    if h.ideal is None:
        stop = np.minimum(h.n_relevant, cut)
        return sums.between(np.zeros_like(stop), stop)
    best = []
    for levels, times in h.ideal:
        stop = times.cumsum()
        best.append(float(levels @ sums.between(np.minimum(stop - times, cut), np.minimum(stop, cut))))
    return np.array(best)


def _ndcg_at_k(retrieval: Retrieval, k: npt.ArrayLike) -> Floats:
    h = retrieval.histograms
    cuts = np.minimum(check_integers(k, name="k", minimum=1), h.n_database)
    sums = RankSums(1.0 / np.log2(np.arange(2, int(cuts.max()) + 2)))
    columns = [ratio(_dcg(h, c, sums), _ideal_dcg(h, c, sums), otherwise=np.nan) for c in cuts.tolist()]
    return like(k, np.stack(columns, axis=1))


def ndcg_at_k(
    queries: npt.ArrayLike,
    database: npt.ArrayLike,
    relevance: Relevance,
    n_bits: int,
    k: npt.ArrayLike,
    *,
    gain: Literal["linear", "exponential"] = "linear",
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


MEASURES = (Measure("ndcg", "query", _ndcg_at_k, parameter="k"),)
