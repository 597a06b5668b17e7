"""Measures of any order of the database, not only of Hamming orders."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from thpi._types import Array, Bools
from thpi.evaluation._histograms import DistanceHistograms
from thpi.evaluation._measure import Measure


class Ranked:
    """Queries whose distances (n_queries x n_database) are any finite numbers; measures take it for a ``Retrieval``.

    The histogram has one column per group of tied rows: all of it is as large as the distances.
    """

    def __init__(self, distances: Array, relevant: Bools) -> None:
        self._distances, self._relevant = distances, relevant

    @cached_property
    def histograms(self) -> DistanceHistograms:
        n, m = self._distances.shape
        order = np.argsort(self._distances, axis=1)
        keys = np.zeros((n, m), dtype=np.int64)
        np.cumsum(np.diff(np.take_along_axis(self._distances, order, axis=1), axis=1) > 0, axis=1, out=keys[:, 1:])
        keys += m * np.arange(n)[:, None]
        good = keys[np.take_along_axis(self._relevant, order, axis=1)]
        every, relevant = (np.bincount(part.ravel(), minlength=n * m).reshape(n, m) for part in (keys, good))
        return DistanceHistograms(every.astype(np.int64, copy=False), relevant.astype(np.int64, copy=False))


def is_of_ranks(measure: Measure) -> bool:
    """Whether a measure is one number per query that depends on ranks and ties alone, not on Hamming distances."""
    return measure.scope == "query" and (measure.parameter == "k" or measure.name == "average_precision")
