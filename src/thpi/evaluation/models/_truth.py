"""Which rows are searched, and which of them are relevant to which queries, for any meaning of "relevant"."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array, InMemory, Ints
from thpi.auto import LEAST_NEAR, Relevance, Spaces, find_relevance
from thpi.base import BaseHasher, Views
from thpi.encoder import Coding, Encoder
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
        labels: tuple[Any, Any] = queries.labels, database.labels
        if labels[0].ndim == 1:
            return Truth(label_relevance_blocks(*labels), "same label")
        return Truth(multilabel_relevance(*labels), "a common tag")
    a, b = (meaning.space(spaces) for spaces in _spaces(queries, database, random_state))
    if radius is not None:
        if not 0 < radius < np.inf:
            raise ValueError(f"radius={radius!r} must be above 0 and finite.")
        near = radius_relevance(a, b, radius, sparse_output=True)
        return Truth(near, f"{meaning.title}: rows nearer than {radius:g}")
    k = default_neighbours(meaning, b.shape[0]) if neighbours is None else neighbours
    if not 1 <= k <= b.shape[0]:
        raise ValueError(f"neighbours={k!r} must be between 1 and the number of database rows, {b.shape[0]}.")
    return Truth(nearest_relevance(a, b, k, sparse_output=True), f"{meaning.title}: the {k:,} nearest rows")


def meaning_of(hasher: Coding, relevance: str | None, *, has_labels: bool = False) -> Relevance:
    """Return what is relevant: what is asked for, else labels if there are any, else what the model was fitted for."""
    fitted = hasher.get_params().get("relevance") if isinstance(hasher, (Encoder, BaseHasher)) else None
    return find_relevance(relevance or ("labels" if has_labels else fitted or "target"))


def draw_queries(rows: Judged, n_queries: int | None, seed: int) -> tuple[Judged, Judged]:
    """Draw queries among rows; the database are the others."""
    n = rows.X.shape[0]
    if n < 2:
        raise ValueError(f"the database has {n} rows to search; at least 2 are needed, one of them a query.")
    count = min(200, max(1, n // 5)) if n_queries is None else n_queries
    if not 1 <= count < n:
        raise ValueError(f"n_queries={count} must be at least 1 and less than the rows of the database, {n}.")
    order = np.random.RandomState(seed).permutation(n)
    return rows.take(np.sort(order[:count])), rows.take(np.sort(order[count:]))


def default_neighbours(relevance: Relevance, n_database: int) -> int:
    """Rows that are near to a query among ``n_database`` if nobody says how many.

    >>> [default_neighbours(find_relevance(name), 600) for name in ("target", "groups")]
    [20, 60]
    """
    k = max(LEAST_NEAR, round(relevance.share * n_database))
    return min(k, n_database, relevance.most or k)


def _spaces(queries: Judged, database: Judged, seed: int) -> tuple[Spaces, Spaces]:
    n = queries.X.shape[0]

    @cache  # once for both
    def groups() -> Array:
        S = stack(queries.source, database.source).astype(np.float64)
        return SourceFeatures(Views(S, S), np.random.RandomState(seed), 0).diffusion

    return (
        Spaces(queries.X, queries.labels, queries.source, lambda: groups()[:n]),
        Spaces(database.X, database.labels, database.source, lambda: groups()[n:]),
    )
