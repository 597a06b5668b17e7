"""The base of stores on engines that order equal distances as they like: answers in insertion order all the same."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeAlias

import numpy.typing as npt

from thpi._types import Codes
from thpi.codes import check_codes
from thpi.index._ids import Neighbours, check_integer
from thpi.stores._store import EngineStore, Id

Found: TypeAlias = "tuple[int, int, Id]"  # distance, position and id of an item

_SPARE = 64  # items beyond the k-th that are asked for at once, so that most answers have all ties of the k-th


class TieStore(EngineStore):
    """Search by (distance, position) from ``_near``, which may order and choose among equal distances as it likes."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _near(self, query: Codes, limit: int | None, radius: int | None) -> list[Found]:
        """Return the items nearest to a query: so many, or all (None), within the radius or at any distance (None)."""

    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours:
        """Return the ``k`` nearest items of each query code, by (distance, insertion)."""
        queries, k = check_codes(codes, n_bits=self.n_bits), min(check_integer("k", k, 1), len(self))
        return self._stacked([self._ordered(self._nearest(query, k)[:k]) for query in queries])

    def _nearest(self, query: Codes, k: int) -> list[Found]:
        """Return at least the ``k`` nearest, with all that are as far as the k-th."""
        if k == 0:
            return []
        found = sorted(self._near(query, k + _SPARE, None))
        if len(found) == k + _SPARE and found[-1][0] == found[k - 1][0]:  # there may be more of them
            found = sorted(self._near(query, None, found[k - 1][0]))
        return found

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Return all items at distance <= ``radius`` of each query code, by (distance, insertion)."""
        queries, radius = check_codes(codes, n_bits=self.n_bits), min(check_integer("radius", radius, 0), self.n_bits)
        there = len(self) > 0
        return [self._ordered(sorted(self._near(query, None, radius)) if there else []) for query in queries]

    def _ordered(self, found: list[Found]) -> Neighbours:
        return self._neighbours([(distance, item) for distance, _, item in found])
