"""What all stores have in common: the calls of HammingIndex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy.typing as npt

from thpi.codes import Codes
from thpi.index._neighbours import Neighbours

__all__ = ["CodeStore"]


class CodeStore(Protocol):
    """Codes with ids, searched by Hamming distance: HammingIndex, PgVector, Milvus."""

    @property
    def n_bits(self) -> int:
        """Bits of a code."""

    def add(self, codes: npt.ArrayLike, ids: Any = None) -> npt.NDArray[Any]:
        """Add codes under ids, all or none."""

    def remove(self, ids: Any) -> None:
        """Remove the codes of ids."""

    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours:
        """Give the k nearest items of each query."""

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Give all items at distance <= radius of each query."""

    def get_codes(self, ids: Any) -> Codes:
        """Give the codes of ids."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[Any, Codes]]: ...
