"""Codes and ids read from a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes
from thpi.codes import check_codes
from thpi.index._ids import check_ids, check_unique


class CodeTable(NamedTuple):
    """Codes and ids read from a file; iterate ``rows()`` to add them to a store."""

    codes: Codes
    ids: Array
    n_bits: int

    @classmethod
    def checked(cls, codes: npt.ArrayLike, ids: npt.ArrayLike | None, n_bits: int) -> CodeTable:
        """Check codes and ids (None: 0, 1, ...), which must be unique.

        >>> CodeTable.checked([[1], [2]], None, 8).ids
        array([0, 1])
        """
        packed = check_codes(codes, n_bits=n_bits)
        table = cls(packed, check_ids(np.arange(len(packed)) if ids is None else ids, length=len(packed)), n_bits)
        check_unique(table.ids)
        return table

    def rows(self) -> Iterator[tuple[int | str, Codes]]:
        """Iterate over (id, code) in order."""
        return zip(self.ids, self.codes, strict=True)
