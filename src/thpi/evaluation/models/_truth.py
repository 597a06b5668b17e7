"""Which database rows are relevant to which queries, for any of the meanings of "relevant"."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array, InMemory, Ints
from thpi.auto import LEAST_NEAR, Relevance, Spaces, find_relevance
from thpi.base import Views
from thpi.evaluation import Relevant, label_relevance_blocks, multilabel_relevance, nearest_relevance, radius_relevance
from thpi.hashers import SourceFeatures
from thpi.pairing import stack


class Judged(NamedTuple):
    """Target rows and what may decide which are relevant: their labels (or tags), and source rows of the same items."""

    X: InMemory
    labels: Array | None = None
    source: InMemory | None = None

    def take(self, rows: Ints) -> Judged:
        """Some of the rows."""
        labels, source = (None if part is None else part[rows] for part in (self.labels, self.source))
        return Judged(self.X[rows], labels, source)


class Truth(NamedTuple):
    """Relevance as :mod:`thpi.evaluation` takes it, and the same in words."""

    relevant: Relevant
    words: str


def find_truth(
    relevance: Relevance | str,
    queries: Judged,
    database: Judged,
    *,
    neighbours: int | None = None,
    radius: float | None = None,
    random_state: int = 0,
) -> Truth:
    """Find the database rows that are relevant to each query.

    ``relevance`` is one of :data:`thpi.RELEVANCES` or its name. If labels decide, relevant rows share the class or a
    tag of the query. Else they are the ``neighbours`` nearest in the space of the relevance, or all that are nearer
    than ``radius``. By default as many rows are near as AutoHasher assumes: 1/30 of the database, at least 5, at most
    50; for groups 1/10. Groups come from the graph over the source rows of queries and database together.

    >>> queries, database = Judged(np.array([[0.0]])), Judged(np.array([[3.0], [1.0], [2.0]]))
    >>> truth = find_truth("target", queries, database, neighbours=2)
    >>> truth.words, truth.relevant.toarray()
    ('near in target space: the 2 nearest rows', array([[False,  True,  True]]))
    """
    meaning = find_relevance(relevance) if isinstance(relevance, str) else relevance
    for name, needed in (("labels", meaning.needs_labels), ("source", meaning.needs_source)):
        if needed and (getattr(queries, name) is None or getattr(database, name) is None):
            raise ValueError(f"relevance={meaning.name!r} needs the {name} of queries and database.")
    if meaning.space is None:
        assert queries.labels is not None  # checked above
        words = "same label" if queries.labels.ndim == 1 else "a common tag"
        return Truth(_same_label(queries.labels, database.labels), words)
    a, b = (meaning.space(spaces) for spaces in _spaces(queries, database, random_state))
    if radius is not None:
        near = radius_relevance(a, b, radius, sparse_output=True)
        return Truth(near, f"{meaning.title}: rows nearer than {radius:g}")
    k = default_neighbours(meaning, b.shape[0]) if neighbours is None else neighbours
    return Truth(nearest_relevance(a, b, k, sparse_output=True), f"{meaning.title}: the {k:,} nearest rows")


def default_neighbours(relevance: Relevance, n_database: int) -> int:
    """Rows that are near to a query among ``n_database`` if nobody says how many.

    >>> [default_neighbours(find_relevance(name), 600) for name in ("target", "groups")]
    [20, 60]
    """
    k = max(LEAST_NEAR, round(relevance.share * n_database))
    return min(k, n_database, relevance.most or k)


def _same_label(queries: Any, database: Any) -> Relevant:
    if queries.ndim == 1:
        return label_relevance_blocks(queries, database)
    return multilabel_relevance(queries, database)


def _spaces(queries: Judged, database: Judged, seed: int) -> tuple[Spaces, Spaces]:
    n = queries.X.shape[0]
    found: list[Array] = []

    def groups() -> Array:
        if not found:  # once for both
            S = stack(queries.source, database.source).astype(np.float64)
            found.append(SourceFeatures(Views(S, S), np.random.RandomState(seed), 0).diffusion)
        return found[0]

    return (
        Spaces(queries.X, queries.labels, queries.source, lambda: groups()[:n]),
        Spaces(database.X, database.labels, database.source, lambda: groups()[n:]),
    )
