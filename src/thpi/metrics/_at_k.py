"""Precision and recall among the first K rows of Hamming rankings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thpi._types import Floats, Ints
from thpi.metrics._histograms import DistanceHistograms, Relevance, Retrieval
from thpi.metrics._measure import Measure, check_integers, like, ratio


def _expected_relevant(h: DistanceHistograms, k: Ints) -> Floats:
    """Expected number of relevant rows among the first ``k`` of each query, shape ``(n_queries, len(k))``.

    If rank k falls into a group of t tied rows, r of them relevant, on ranks a+1 .. a+t, the group adds (k-a) r/t.
    """
    upto, relevant = h.hist_all.cumsum(axis=1), h.hist_relevant.cumsum(axis=1)
    queries = np.arange(len(upto))
    columns = []
    for cut in np.minimum(k, h.n_database):
        group = (upto < cut).sum(axis=1)  # the group that holds rank ``cut``
        t, r = h.hist_all[queries, group], h.hist_relevant[queries, group]
        left_out = upto[queries, group] - cut
        columns.append(relevant[queries, group] - left_out * r / t)
    return np.stack(columns, axis=1)


def _precision_at_k(retrieval: Retrieval, k: npt.ArrayLike) -> Floats:
    cuts = check_integers(k, name="k", minimum=1)
    return like(k, _expected_relevant(retrieval.histograms, cuts) / cuts)


def _recall_at_k(retrieval: Retrieval, k: npt.ArrayLike) -> Floats:
    h = retrieval.histograms
    found = _expected_relevant(h, check_integers(k, name="k", minimum=1))
    return like(k, ratio(found, h.n_relevant[:, None], otherwise=np.nan))


def precision_at_k(
    queries: npt.ArrayLike, database: npt.ArrayLike, relevance: Relevance, n_bits: int, k: npt.ArrayLike
) -> Floats:
    """Precision among the first ``k`` rows of each query, expected over random orders of tied rows.

    ``k`` is an integer, for one number per query, or a list, for one column per k. With k > n_database the
    count is still divided by k, as in trec_eval.

    >>> precision_at_k([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2, k=[1, 2, 4])
    array([[1.  , 0.75, 0.5 ]])
    """
    return _precision_at_k(Retrieval(queries, database, relevance, n_bits), k)


def recall_at_k(
    queries: npt.ArrayLike, database: npt.ArrayLike, relevance: Relevance, n_bits: int, k: npt.ArrayLike
) -> Floats:
    """Share of a query's relevant rows among its first ``k``, expected over random orders of tied rows.

    ``k`` is as in :func:`precision_at_k`. A query without relevant rows has NaN.

    >>> recall_at_k([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2, k=[1, 2, 4])
    array([[0.5 , 0.75, 1.  ]])
    """
    return _recall_at_k(Retrieval(queries, database, relevance, n_bits), k)


MEASURES = (
    Measure("precision", "query", _precision_at_k, parameter="k"),
    Measure("recall", "query", _recall_at_k, parameter="k"),
)
