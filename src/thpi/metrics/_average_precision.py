"""Average precision of Hamming rankings, with four readings of ties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from thpi.metrics._histograms import Retrieval
from thpi.metrics._measure import EmptyRule, Measure, QueryMean, query_mean, ratio
from thpi.metrics._relevance import Block, Relevance
from thpi.metrics._sums import RankSums, harmonic

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Ties = Literal["expected", "best", "worst", "stable"]


# Kernels: sizes t and relevant rows r of the tie groups, ranks a and relevant rows R before them -> sum of
# precisions at relevant rows, group by group.


def _expected(t: Counts, r: Counts, a: Counts, R: Counts, sums: RankSums) -> Floats:
    inverse_ranks = sums.between(a, a + t)
    slope = ratio(r - 1, t - 1, otherwise=0.0)
    # No relevant row in the group: the factor r / t makes the whole term 0.
    return ratio(r, t, otherwise=0.0) * ((R + 1) * inverse_ranks + slope * (t - (a + 1) * inverse_ranks))


def _best(t: Counts, r: Counts, a: Counts, R: Counts, sums: RankSums) -> Floats:
    result: Floats = r + (R - a) * sums.between(a, a + r)
    return result


def _worst(t: Counts, r: Counts, a: Counts, R: Counts, sums: RankSums) -> Floats:
    first = a + t - r
    result: Floats = r + (R - first) * sums.between(first, a + t)
    return result


def _from_groups(kernel: Callable[..., Floats]) -> Callable[[Retrieval], Floats]:
    """Make the loop over queries of a kernel on tie groups; it is a sum along the distance axis."""

    def compute(retrieval: Retrieval) -> Floats:
        h = retrieval.histograms
        t, r = h.hist_all, h.hist_relevant
        a, R = t.cumsum(axis=1) - t, r.cumsum(axis=1) - r
        return ratio(kernel(t, r, a, R, harmonic(h.n_database)).sum(axis=1), h.n_relevant, otherwise=np.nan)

    return compute


def _stable_row(distances: Block, relevant: Block) -> float:
    order = np.argsort(distances, kind="stable")  # a radix sort for these narrow integers
    ranks = np.flatnonzero(relevant[order]) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else np.nan


def _stable(retrieval: Retrieval) -> Floats:
    return np.array(
        [
            _stable_row(row, grades > 0)
            for _, distances, relevance in retrieval.blocks()
            for row, grades in zip(distances, relevance, strict=True)
        ]
    )


_BY_TIES: dict[str, Callable[[Retrieval], Floats]] = {
    "expected": _from_groups(_expected),
    "best": _from_groups(_best),
    "worst": _from_groups(_worst),
    "stable": _stable,
}


def average_precision(
    queries: npt.ArrayLike,
    database: npt.ArrayLike,
    relevance: Relevance,
    n_bits: int,
    *,
    ties: Ties = "expected",
) -> Floats:
    r"""Average precision of each query over the whole Hamming ranking; NaN if no row is relevant to it.

    AP is the mean, over the relevant rows, of the precision at their ranks. Rows at one distance are tied:

    - ``"expected"``: the expected value over all orders of tied rows, each equally likely;
    - ``"best"``, ``"worst"``: relevant rows first or last among tied rows;
    - ``"stable"``: tied rows in the order of the database, an accident of how it is stored.

    The closed form (McSherry & Najork, ECIR 2008). Let a group of t tied rows with r relevant take ranks
    a+1 .. a+t, after R relevant rows. The row at rank a+j is relevant with probability r/t; given that,
    each of the j-1 group members before it is relevant with probability (r-1)/(t-1). So the group adds

        sum_{j=1..t}  r/t (R + 1 + (j-1) (r-1)/(t-1)) / (a+j)
            = r/t ( (R+1) h + (r-1)/(t-1) (t - (a+1) h) ),     h = sum_{j=1..t} 1/(a+j),

    because (j-1)/(a+j) = 1 - (a+1)/(a+j). With harmonic numbers h is one subtraction, so a query costs
    O(n_bits). In the same way the i-th relevant row adds (R+i)/(a+i) in the best order, in sum
    r + (R-a) (H(a+r) - H(a)), and (R+i)/(a+t-r+i) in the worst, r + (R-a-t+r) (H(a+t) - H(a+t-r)).

    >>> codes = [[0b00], [0b01], [0b10]]  # distances 0, 1, 1
    >>> average_precision([[0b00]], codes, [[False, True, False]], n_bits=2)
    array([0.41666667])
    >>> [float(average_precision([[0]], codes, [[0, 1, 0]], 2, ties=t)[0].round(3)) for t in ("best", "worst")]
    [0.5, 0.333]
    """
    if ties not in _BY_TIES:
        raise ValueError(f"ties={ties!r} must be one of {list(_BY_TIES)}.")
    return _BY_TIES[ties](Retrieval(queries, database, relevance, n_bits))


def mean_average_precision(
    queries: npt.ArrayLike,
    database: npt.ArrayLike,
    relevance: Relevance,
    n_bits: int,
    *,
    ties: Ties = "expected",
    empty: EmptyRule = "omit",
) -> QueryMean:
    """Mean over queries of :func:`average_precision`, with the count of queries without relevant rows.

    Those queries have no average precision: they are left out of the mean (``empty="omit"``) or count as 0
    (``empty="zero"``).

    >>> m = mean_average_precision([[0], [1]], [[0], [3]], [[True, False], [False, False]], n_bits=2)
    >>> m
    QueryMean(value=1.0, n_queries=2, n_empty=1)
    """
    return query_mean(average_precision(queries, database, relevance, n_bits, ties=ties), empty=empty)


MEASURES = (
    Measure("average_precision", "query", _BY_TIES["expected"]),
    Measure("average_precision_best", "query", _BY_TIES["best"]),
    Measure("average_precision_worst", "query", _BY_TIES["worst"]),
    Measure("average_precision_stable", "query", _BY_TIES["stable"]),
    Measure("mean_average_precision", "pooled", lambda r: query_mean(_BY_TIES["expected"](r)).value),
)
