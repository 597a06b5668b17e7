"""Recall of the true nearest rows, of the first rows that a search finds; and their relevance in another meaning.

Let N_k(q) be the k rows nearest to the query q, and those tied with the k-th, and F_c(q) the first c rows found. Then

    recall(k, c) = mean over q of min(k, |N_k(q) & F_c(q)|) / k.

Recall at k is recall(k, k): what a search by the codes alone gives. Recall of the first k among c > k is what is left
after c candidates are put into the order of their vectors.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thpi._types import Array, Bools, Floats, Ints
from thpi.comparison._method import Search
from thpi.evaluation import Measured, label_relevance, nearest_relevance, paired_difference


class Cut(NamedTuple):
    """Recall of the first ``k`` among ``candidates``."""

    k: int
    candidates: int

    def __str__(self) -> str:
        return f"{self.k}" if self.k == self.candidates else f"{self.k} in {self.candidates}"


class Truth:
    """The true nearest rows of each query, for the numbers of rows that the cuts ask for."""

    def __init__(self, queries: Array, database: Array, cuts: Sequence[Cut]) -> None:
        self.n, self.cuts = len(queries), tuple(cuts)
        self.near = {k: _positions(nearest_relevance(queries, database, k)) for k in {cut.k for cut in cuts}}

    @property
    def most(self) -> int:
        """The number of rows that a search must find."""
        return max(cut.candidates for cut in self.cuts)

    def recalls(self, found: Ints) -> dict[Cut, Floats]:
        """Recall of each query, for each cut."""
        return {cut: _hits(self.near[cut.k], found[:, : cut.candidates], cut.k) for cut in self.cuts}


@dataclass(frozen=True)
class Meaning:
    """Another meaning of "relevant": its title, and the relevant rows of each query."""

    title: str
    relevant: Sequence[Ints]
    k: int

    def shares(self, found: Ints) -> Floats:
        """Share of the first ``k`` rows found that are relevant, for each query."""
        return _hits(self.relevant, found[:, : self.k], self.k)


def same_label(queries: Array, database: Array, k: int) -> Meaning:
    """Relevant are rows with the label of the query."""
    return Meaning(f"same label in first {k}", _positions(label_relevance(queries, database)), k)


def near_in_source(queries: Array, database: Array, k: int) -> Meaning:
    """Relevant are the k rows nearest in source space."""
    return Meaning(f"{k} nearest in source", _positions(nearest_relevance(queries, database, k)), k)


def _positions(relevant: Bools) -> list[Ints]:
    return [np.flatnonzero(row) for row in relevant]


def _hits(relevant: Sequence[Ints], found: Ints, k: int) -> Floats:
    counts = [np.isin(rows, near).sum() for rows, near in zip(found, relevant, strict=True)]
    return np.minimum(np.array(counts, dtype=np.float64), k) / k


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
