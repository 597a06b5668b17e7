"""A meaning of "relevant": its ground truth, and the methods that AutoHasher tries for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thpi._types import Array, Bools, Matrix, Seed
from thpi.base import BaseHasher
from thpi.evaluation import label_relevance, multilabel_relevance, neighbour_radius, radius_relevance
from thpi.hashers import ITQ

LEAST_NEAR = 5
"""Pairs that are near at least: fewer in a sample would be noise."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method and its parameters; with or without the source, on the rows or on kernel features of them.

    A candidate that does not use the source is never shown it.

    >>> from thpi.hashers import NeighbourHash
    >>> candidate = Candidate(NeighbourHash, {"start_penalty": 1.0}, uses_source=False)
    >>> str(candidate), candidate.make(16, random_state=0)
    ('NeighbourHash without source', NeighbourHash(n_bits=16, random_state=0, start_penalty=1.0))
    """

    method: type[BaseHasher]
    params: Mapping[str, Any] = field(default_factory=dict)
    uses_source: bool = True
    kernel: bool = False

    def __str__(self) -> str:
        kernel, source = "kernel " * self.kernel, "with source" if self.uses_source else "without source"
        return f"{kernel}{self.method.__name__} {source}"

    def make(self, n_bits: int, random_state: Seed = None) -> BaseHasher:
        """Return the hasher, not yet fitted."""
        return self.method(n_bits=n_bits, random_state=random_state, **self.params)


ITQ_ALONE = Candidate(ITQ, uses_source=False)


@dataclass(frozen=True)
class Spaces:
    """The spaces in which the rows of pairs can be near to each other, and their labels."""

    target: Any
    labels: Any = None
    source: Any = None
    find_groups: Callable[[], Array] | None = None

    @cached_property
    def groups(self) -> Array:
        """Diffusion coordinates of the source rows, in which rows of one group are near; computed if needed."""
        assert self.find_groups is not None
        return self.find_groups()


@dataclass(frozen=True)
class Relevance:
    """One meaning of "relevant"; :data:`thpi.registry.RELEVANCES` has them by name.

    An item is relevant to another if it is near in ``space`` or, if that is None, has its class or shares a tag.
    ``share`` of the pairs are near on average: the paper's 50 neighbours are 1/20 to 1/60 of its collections.
    """

    name: str
    title: str
    candidates: tuple[Candidate, ...]  #: In order of preference: of those that score about alike the first is taken.
    default: Candidate  #: Taken if what decides about relevance has nothing to do with the target.
    space: Callable[[Spaces], Matrix] | None = None
    share: float = 1 / 30
    most: int | None = 50  #: In a search among many rows, at most as many are near.
    needs_source: bool = False
    directions: bool = True  #: Whether kernels also look at the directions of rows, rather than at distances alone.
    two_sided: tuple[Candidate, ...] = ()  #: These code items by their source rows.

    @property
    def needs_labels(self) -> bool:
        """Whether labels decide."""
        return self.space is None

    def of_pairs(self, spaces: Spaces) -> Bools:
        """Which rows are relevant to which (n x n, the diagonal false)."""
        return self._near(spaces, lambda n: max(LEAST_NEAR, round(self.share * n)))

    def of_search(self, spaces: Spaces, size: int) -> Bools:
        """The same as in a search among ``size`` items: of a large collection, a smaller share is near."""
        share = self.share if self.most is None else min(self.share, self.most / size)
        return self._near(spaces, lambda n: max(1, round(share * n)))

    def _near(self, spaces: Spaces, count: Callable[[int], int]) -> Bools:
        if self.space is None:
            relevant = _same_label(spaces.labels, spaces.labels)
        else:
            rows: Any = self.space(spaces)
            n = rows.shape[0]
            k = min(n - 1, count(n))
            relevant = np.array(radius_relevance(rows, rows, neighbour_radius(rows, k=k)), dtype=np.bool_)
        np.fill_diagonal(relevant, False)
        return relevant


def _same_label(queries: Array, database: Array) -> Bools:
    found: Any = label_relevance(queries, database) if queries.ndim == 1 else multilabel_relevance(queries, database)
    return np.array(found.toarray() if sparse.issparse(found) else found, dtype=np.bool_)


RELEVANCES: dict[str, Relevance] = {}
"""Every meaning of "relevant" by its name; those of the package are in ``_relevances.py``."""

OFFERED: dict[str, list[Candidate]] = {}
"""Candidates of methods that were registered from outside, by the name of the relevance."""


def find_relevance(name: str) -> Relevance:
    """Look up a meaning of "relevant".

    >>> find_relevance("source").title
    'near in source space'
    >>> find_relevance("colour")
    Traceback (most recent call last):
    ValueError: relevance='colour' must be one of target, source, labels, groups.
    """
    if name not in RELEVANCES:
        raise ValueError(f"relevance={name!r} must be one of {', '.join(RELEVANCES)}.")
    return RELEVANCES[name]


def candidates(
    relevance: Relevance | str, *, has_source: bool = True, has_labels: bool = True
) -> tuple[Candidate, ...]:
    """Candidates for a relevance in order of preference, plain ITQ last; without source or labels, those that need
    neither.

    >>> [str(candidate) for candidate in candidates("labels", has_source=False)]
    ['ClassITQ without source', 'ClassITQ without source', 'kernel ClassITQ without source',
     'kernel ClassITQ without source', 'ITQ without source']
    """
    if isinstance(relevance, str):
        relevance = find_relevance(relevance)
    return tuple(
        candidate
        for candidate in (*relevance.candidates, *OFFERED.get(relevance.name, ()), ITQ_ALONE)
        if (has_source or not candidate.uses_source) and (has_labels or not candidate.method.uses_labels)
    )
