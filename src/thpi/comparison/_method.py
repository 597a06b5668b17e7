"""What a comparison needs of a method: codes of a given size, of rows to search, learned from rows to learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from thpi._types import Array, Floats, Ints
from thpi.solvers.moments import principal_axes

Search: TypeAlias = Callable[[Array, int], Ints]
"""Positions of the ``k`` rows nearest to each query, by the codes of all rows: (queries, k) to (n_queries, k)."""


@dataclass(frozen=True)
class Coded:
    """The rows that are searched, as codes.

    ``n_bytes`` are the bytes of one row, ``shared_bytes`` those that all rows share: projections, centroids.
    ``searches`` are exhaustive, by the name of the order; ``approximate`` is the last of them by an index of a recall.
    """

    n_bytes: int
    shared_bytes: int
    searches: Mapping[str, Search]
    approximate: Callable[[float], Search] | None = None


@dataclass(frozen=True)
class Training:
    """Rows to learn from, in float32, and what is known of them besides; the rows to search; the seed of all draws."""

    X: Array
    searched: Array
    seed: int
    privileged: Any = None
    labels: Any = None

    @property
    def n_dims(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def most_axes(self) -> int:
        """Number of principal axes, at most: centred rows span no more."""
        return min(self.n_dims, len(self.X) - 1)

    @cached_property
    def mean(self) -> Floats:
        """Mean of the rows."""
        return np.asarray(self.X.mean(axis=0, dtype=np.float64))

    @cached_property
    def axes(self) -> Floats:
        """Principal axes by falling variance, in columns."""
        return principal_axes(self.X, self.mean.astype(np.float32), self.most_axes)[0].astype(np.float64)

    def rotation(self, n: int) -> Floats:
        """Random rotation of n dimensions."""
        return np.linalg.qr(np.random.RandomState(self.seed).standard_normal((n, n)))[0]


@dataclass(frozen=True)
class Method:
    """A way to code rows: its name and ``code(rows, n_bytes)``.

    This returns the largest code of at most ``n_bytes`` bytes a row, or None if there is none.
    """

    name: str
    code: Callable[[Training, int], Coded | None]
    needs: str | None = None
    """A class that faiss must have."""
