"""Moving codes from one store to another."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np

from thpi._types import Codes
from thpi.stores._store import CodeStore, Id


def copy_codes(source: Iterable[tuple[Id, Codes]], target: CodeStore, *, batch_size: int = 10_000) -> int:
    """Add every (id, code) of ``source`` to ``target``, in order, one batch at a time; return their number.

    >>> from thpi.index import HammingIndex
    >>> shop, copy = HammingIndex(8), HammingIndex(8)
    >>> _ = shop.add(np.array([[1], [2]], dtype=np.uint8), ids=["a", "b"])
    >>> copy_codes(shop, copy), copy.ids
    (2, array(['a', 'b'], dtype=object))
    """
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size!r} must be at least 1.")
    rows, total = iter(source), 0
    while batch := list(islice(rows, batch_size)):
        target.add(np.stack([code for _, code in batch]), ids=[item for item, _ in batch])
        total += len(batch)
    return total
