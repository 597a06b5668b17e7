"""Average precision of Hamming rankings, with four ways to treat ties."""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from thpi._types import Array, Floats, Ints
from thpi.evaluation._histograms import (
    DistanceHistograms,
    Relevant,
    Retrieval,
    check_distances,
    distance_histograms,
    relevance_blocks,
)
from thpi.evaluation._measure import EmptyRule, Measure, QueryMean, RankSums, harmonic, query_mean, ratio

Ties = Literal["expected", "best", "worst", "stable"]

# Each returns, per tie group, the sum of precisions at its relevant rows. A group has t rows, of which r are relevant;
# before it come a rows, of which R are relevant.


def _expected(t: Ints, r: Ints, a: Ints, R: Ints, sums: RankSums) -> Floats:
    inverse_ranks = sums.between(a, a + t)
    slope = ratio(r - 1, t - 1, otherwise=0.0)
    # Without relevant rows in the group, the factor r / t makes the term 0.
    return ratio(r, t, otherwise=0.0) * ((R + 1) * inverse_ranks + slope * (t - (a + 1) * inverse_ranks))


def _best(t: Ints, r: Ints, a: Ints, R: Ints, sums: RankSums) -> Floats:
    return np.asarray(r + (R - a) * sums.between(a, a + r))


def _worst(t: Ints, r: Ints, a: Ints, R: Ints, sums: RankSums) -> Floats:
    first = a + t - r
    return np.asarray(r + (R - first) * sums.between(first, a + t))


_KERNELS = {"expected": _expected, "best": _best, "worst": _worst}


def _stable_row(distances: Array, relevant: Array) -> float:
    order = np.argsort(distances, kind="stable")  # a radix sort for these narrow integers
    ranks = np.flatnonzero(relevant[order]) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else np.nan


def _average_precision(retrieval: Retrieval, ties: Ties = "expected") -> Floats:
    if ties == "stable":
        blocks = ((retrieval.distances(rows), relevance > 0) for rows, relevance in retrieval.blocks())
        return np.array([_stable_row(*row) for block in blocks for row in zip(*block, strict=True)])
    return _of_histograms(retrieval.histograms, ties)


def _of_histograms(h: DistanceHistograms, ties: Ties = "expected") -> Floats:
    t, r = h.hist_all, h.hist_relevant
    a, R = t.cumsum(axis=1) - t, r.cumsum(axis=1) - r
    return ratio(_KERNELS[ties](t, r, a, R, harmonic(h.n_database)).sum(axis=1), h.n_relevant, otherwise=np.nan)


def average_precision(
    queries: ArrayLike, database: ArrayLike, relevance: Relevant, n_bits: int, *, ties: Ties = "expected"
) -> Floats:
    r"""Average precision of each query over the whole Hamming ranking; NaN if no row is relevant to it.

    AP is the mean, over the relevant rows, of the precision at their ranks. Rows at the same distance are tied:

    - ``"expected"``: the expected value over all orders of tied rows, each equally likely;
    - ``"best"``, ``"worst"``: relevant rows first or last among tied rows;
    - ``"stable"``: tied rows in the order of the database.

    The closed form (McSherry & Najork, ECIR 2008): let a group of t tied rows with r relevant take ranks a+1 .. a+t,
    after R relevant rows. The row at rank a+j is relevant with probability r/t; given that, each of the j-1 group
    members before it is relevant with probability (r-1)/(t-1). So the group adds

        sum_{j=1..t}  r/t (R + 1 + (j-1) (r-1)/(t-1)) / (a+j)
            = r/t ( (R+1) h + (r-1)/(t-1) (t - (a+1) h) ),     h = sum_{j=1..t} 1/(a+j),

    because (j-1)/(a+j) = 1 - (a+1)/(a+j). With harmonic numbers h is one subtraction, so a query costs O(n_bits). The
    i-th relevant row adds (R+i)/(a+i) in the best order and (R+i)/(a+t-r+i) in the worst; the sums are
    r + (R-a) (H(a+r) - H(a)) and r + (R-a-t+r) (H(a+t) - H(a+t-r)).

    >>> codes = [[0b00], [0b01], [0b10]]  # distances 0, 1, 1
    >>> average_precision([[0b00]], codes, [[False, True, False]], n_bits=2)
    array([0.41666667])
    """
    if ties not in get_args(Ties):
        raise ValueError(f"ties={ties!r} must be one of {list(get_args(Ties))}.")
    return _average_precision(Retrieval(queries, database, relevance, n_bits), ties)


def mean_average_precision(
    queries: ArrayLike,
    database: ArrayLike,
    relevance: Relevant,
    n_bits: int,
    *,
    ties: Ties = "expected",
    empty: EmptyRule = "omit",
) -> QueryMean:
    """Mean of :func:`average_precision` over queries, by :func:`query_mean`.

    >>> mean_average_precision([[0], [1]], [[0], [3]], [[True, False], [False, False]], n_bits=2)
    QueryMean(value=1.0, n_queries=2, n_empty=1)
    """
    return query_mean(average_precision(queries, database, relevance, n_bits, ties=ties), empty=empty)


def average_precision_among(codes: ArrayLike, relevance: Relevant, n_bits: int) -> Floats:
    """Average precision of each code as a query among all others, expected under ties; NaN if none is relevant to it.

    The diagonal of ``relevance`` must be false.

    >>> average_precision_among([[0b00], [0b01], [0b11]], [[0, 0, 1], [0, 0, 0], [1, 0, 0]], n_bits=2)
    array([0.5, nan, 0.5])
    """
    h = distance_histograms(codes, codes, relevance, n_bits)
    others = h.hist_all.copy()
    others[:, 0] -= 1  # the row itself is no answer
    return _of_histograms(DistanceHistograms(others, h.hist_relevant))


def ranked_average_precision(distances: ArrayLike, relevance: Relevant) -> Floats:
    """Average precision of each query, given its distance to every database row; NaN if no row is relevant to it.

    As :func:`average_precision` with ``ties="expected"``, but for any finite distances, an array of shape
    (n_queries, n_database): see :func:`thpi.index.asymmetric_distances`.

    >>> ranked_average_precision([[0.5, 0.2, 0.2]], [[False, True, False]])
    array([0.75])
    """
    d = check_distances(distances)
    block = relevance_blocks(relevance, *d.shape)
    sums = harmonic(d.shape[1])
    return np.array([_ranked_row(d[i], block(i, i + 1)[0] > 0, sums) for i in range(len(d))])


def _ranked_row(distances: Array, relevant: Array, sums: RankSums) -> float:
    if not relevant.any():
        return float("nan")
    order = np.argsort(distances)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(distances[order]) > 0]))
    t = np.diff(np.append(starts, len(order)))
    r = np.add.reduceat(relevant[order].astype(np.int64), starts)
    return float(_expected(t, r, starts, r.cumsum() - r, sums).sum() / relevant.sum())


MEASURES = (
    Measure("average_precision", "query", _average_precision),
    *(Measure(f"average_precision_{t}", "query", partial(_average_precision, ties=t)) for t in get_args(Ties)[1:]),
    Measure("mean_average_precision", "pooled", lambda r: query_mean(_average_precision(r)).value),
)
