"""What a comparison needs of a method: codes of a given size, of rows to search, learned from rows to learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from thpi._types import Array, Ints

Search: TypeAlias = Callable[[Array, int], Ints]
"""Positions of the ``k`` rows nearest to each query, by the codes of all rows: (queries, k) to (n_queries, k)."""


class Coded(NamedTuple):
    """The rows that are searched, as codes.

    ``n_bytes`` are the bytes of one row, ``shared_bytes`` those that all rows share: projections, centroids.
    ``searches`` are exhaustive, by the name of the order.
    """

    n_bytes: int
    shared_bytes: int
    searches: Mapping[str, Search]


class Training(NamedTuple):
    """Rows to learn from and rows to search, in float32, and the seed of all draws."""

    X: Array
    searched: Array
    seed: int

    @property
    def n_dims(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def most_axes(self) -> int:
        """Number of principal axes, at most: centred rows span no more."""
        return min(self.n_dims, len(self.X) - 1)


Method: TypeAlias = Callable[[Training, int], "Coded | None"]
"""A way to code rows: returns the largest code of at most so many bytes a row, or None if there is none."""
