"""What several loaders make of words: class numbers, and texts to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from thpi._types import Ints

if TYPE_CHECKING:
    from scipy import sparse

Sparse: TypeAlias = "sparse.csr_array[Any, Any]"


def number_classes(categories: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Return the class number of each row, and the names of the classes in alphabetical order."""
    names, labels = np.unique(categories, return_inverse=True)
    return labels.astype(np.int64), tuple(names.tolist())


def texts_of(rows: Sparse, names: Sequence[str], most: int | None = None) -> tuple[str, ...]:
    """Return, for each row, the names of its nonzero columns, the largest entries first, at most ``most``."""
    entries = (np.split(values, rows.indptr[1:-1]) for values in (-rows.data, rows.indices))
    return tuple(
        " ".join(names[column] for column in columns[np.argsort(values, kind="stable")[:most]])
        for values, columns in zip(*entries, strict=True)
    )
