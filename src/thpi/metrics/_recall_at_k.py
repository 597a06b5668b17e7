"""Recall among the first K rows of Hamming rankings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thpi._types import Floats
from thpi.metrics._histograms import Retrieval
from thpi.metrics._measure import Measure, check_integers, like, ratio
from thpi.metrics._precision_at_k import expected_relevant
from thpi.metrics._relevance import Relevance


def _recall_at_k(retrieval: Retrieval, k: npt.ArrayLike) -> Floats:
    h = retrieval.histograms
    found = expected_relevant(h, check_integers(k, name="k", minimum=1))
    return like(k, ratio(found, h.n_relevant[:, None], otherwise=np.nan))


def recall_at_k(
    queries: npt.ArrayLike, database: npt.ArrayLike, relevance: Relevance, n_bits: int, k: npt.ArrayLike
) -> Floats:
    """Share of a query's relevant rows among its first ``k``, expected over random orders of tied rows.

    ``k`` is an integer, for one number per query, or a list, for one column per k. The value is NaN for a query
    without relevant rows, and otherwise 1 if k >= n_database.

    >>> recall_at_k([[0b00]], [[0b00], [0b01], [0b10]], [[True, False, True]], n_bits=2, k=[1, 2, 4])
    array([[0.5 , 0.75, 1.  ]])
    """
    return _recall_at_k(Retrieval(queries, database, relevance, n_bits), k)


MEASURES = (Measure("recall", "query", _recall_at_k, parameter="k"),)
