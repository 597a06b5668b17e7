"""Recall of the true nearest rows, of the first rows that a search finds.

Let N_k(q) be the k rows nearest to the query q, and those tied with the k-th, and F_c(q) the first c rows found. Then

    recall(k, c) = mean over q of min(k, |N_k(q) & F_c(q)|) / k.

Recall at k is recall(k, k): what a search by the codes alone gives. Recall of the first k among c > k is what is left
after c candidates are put into the order of their vectors.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thpi._types import Array, Floats, Ints
from thpi.comparison._method import Search
from thpi.evaluation import Measured, nearest_relevance, paired_difference


class Cut(NamedTuple):
    """Recall of the first ``k`` among ``candidates``."""

    k: int
    candidates: int

    def __str__(self) -> str:
        return f"{self.k}" if self.k == self.candidates else f"{self.k} in {self.candidates}"


class Truth:
    """The true nearest rows of each query, for the numbers of rows that the cuts ask for."""

    def __init__(self, queries: Array, database: Array, cuts: Sequence[Cut]) -> None:
        self.cuts, self.most = tuple(cuts), max(cut.candidates for cut in cuts)
        relevant = {k: nearest_relevance(queries, database, k) for k in {cut.k for cut in cuts}}
        self.near = {k: [np.flatnonzero(row) for row in rows] for k, rows in relevant.items()}

    def recalls(self, found: Ints) -> dict[Cut, Floats]:
        """Recall of each query, for each cut; ``found`` are the first ``most`` rows of each."""
        return {cut: self._recall(found[:, : cut.candidates], cut.k) for cut in self.cuts}

    def _recall(self, found: Ints, k: int) -> Floats:
        hits = [np.isin(rows, near).sum() for rows, near in zip(found, self.near[k], strict=True)]
        return np.minimum(hits, k) / k


def measured(values: Floats) -> Measured:
    """Mean over queries with its 95 % interval (Student's t).

    >>> [round(number, 3) for number in measured(np.array([1.0, 0.5, 0.6]))]
    [0.7, 0.043, 1.0]
    """
    mean, low, high, _ = paired_difference(values, np.zeros_like(values))
    return Measured(mean, max(low, 0.0), min(high, 1.0))


def timed(search: Search, queries: Array, k: int) -> tuple[Ints, float]:
    """What a search finds, and milliseconds of a query, in the faster of two runs over all of them."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        found = search(queries, k)
        seconds.append(time.perf_counter() - start)
    return found, 1e3 * min(seconds) / len(queries)
