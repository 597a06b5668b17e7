"""A method with its parameters, as AutoHasher tries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thpi._types import Seed
from thpi.base import BaseHasher
from thpi.hashers import ITQ
from thpi.hashers._geometry_hasher import GeometryLearner

__all__ = ["Candidate"]


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

    @property
    def starts_at_itq(self) -> bool:
        """Whether it learns in a geometry, starting at the codes of ITQ.

        A method that does not, such as the paper's, costs more, and differs from ITQ by the luck of its start too.
        """
        return issubclass(self.method, GeometryLearner)

    @property
    def is_plain_itq(self) -> bool:
        """Whether it is ITQ of the rows, which is always computed first."""
        return self.method is ITQ and not self.kernel and not self.params
