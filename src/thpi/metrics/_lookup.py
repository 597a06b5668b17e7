"""Hash lookup: precision and recall of the rows within a Hamming ball."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thpi._types import Floats, Ints
from thpi.metrics._histograms import Relevance, Retrieval
from thpi.metrics._measure import Measure, check_integers, like, ratio


def _within(counts: Ints, radius: npt.ArrayLike) -> Ints:
    radii = np.minimum(check_integers(radius, name="radius", minimum=0), counts.shape[1] - 1)
    return counts.cumsum(axis=1)[:, radii]


def _lookup_precision(retrieval: Retrieval, radius: npt.ArrayLike) -> Floats:
    h = retrieval.histograms
    return like(radius, ratio(_within(h.hist_relevant, radius), _within(h.hist_all, radius), otherwise=0.0))


def _lookup_recall(retrieval: Retrieval, radius: npt.ArrayLike) -> Floats:
    h = retrieval.histograms
    return like(radius, ratio(_within(h.hist_relevant, radius), h.n_relevant[:, None], otherwise=np.nan))


def lookup_precision(
    queries: npt.ArrayLike, database: npt.ArrayLike, relevance: Relevance, n_bits: int, radius: npt.ArrayLike
) -> Floats:
    """Share of relevant rows among those at Hamming distance <= ``radius``; an empty ball has precision 0.

    ``radius`` is an integer, for one number per query, or a list, for one column per radius.

    >>> lookup_precision([[0b0111]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=4, radius=[1, 2, 3])
    array([[0.        , 0.5       , 0.66666667]])
    """
    return _lookup_precision(Retrieval(queries, database, relevance, n_bits), radius)


def lookup_recall(
    queries: npt.ArrayLike, database: npt.ArrayLike, relevance: Relevance, n_bits: int, radius: npt.ArrayLike
) -> Floats:
    """Share of a query's relevant rows at Hamming distance <= ``radius``; NaN if it has none.

    >>> lookup_recall([[0b0111]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=4, radius=[1, 2, 3])
    array([[0. , 0.5, 1. ]])
    """
    return _lookup_recall(Retrieval(queries, database, relevance, n_bits), radius)


MEASURES = (
    Measure("lookup_precision", "query", _lookup_precision, parameter="radius"),
    Measure("lookup_recall", "query", _lookup_recall, parameter="radius"),
)
