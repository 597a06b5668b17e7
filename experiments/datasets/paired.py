"""Data sets as a whole: whether their fields fit together, and some of their rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi._types import Ints
from thpi.datasets import PairedDataset

_PER_ROW = ("target", "source", "names", "labels", "tags", "pictures", "target_texts", "source_texts")


def checked(data: PairedDataset) -> PairedDataset:
    """Return a data set, or refuse one whose fields do not fit together."""
    for field in _PER_ROW:
        value = getattr(data, field)
        rows = data.n if value is None else value.shape[0] if hasattr(value, "shape") else len(value)
        if rows != data.n:
            raise ValueError(f"{field} has {rows} rows and target has {data.n}; they must be equal.")
    wanted = data.source.shape[1]
    columns = wanted if data.source_only is None else data.source_only.shape[1]
    if columns != wanted:
        raise ValueError(f"source_only has {columns} columns and source has {wanted}; they must be equal.")
    if data.labels is not None and data.n and data.labels.max() >= len(data.label_names):
        raise ValueError(f"labels go up to {data.labels.max()}, but there are {len(data.label_names)} names.")
    if data.tags is not None and data.tags.shape[1] != len(data.tag_names):
        raise ValueError(f"tags has {data.tags.shape[1]} columns, but there are {len(data.tag_names)} names.")
    return data


def take(data: PairedDataset, rows: npt.ArrayLike) -> PairedDataset:
    """Keep only the given paired rows, in the given order; ``source_only`` stays whole."""
    index = np.asarray(rows)
    if index.dtype == np.bool_:
        index = np.flatnonzero(index)
    return replace(data, **{field: _taken(getattr(data, field), index) for field in _PER_ROW})


def _taken(values: Any, index: Ints) -> Any:
    """Select rows of an array, of a sequence, or of a sequence with a lazy ``take`` of its own."""
    if values is None or hasattr(values, "shape"):
        return None if values is None else values[index]
    return values.take(index) if hasattr(values, "take") else tuple(values[i] for i in index.tolist())
