"""The form in which every loader returns its data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from thpi._types import InMemory, Ints

Picture: TypeAlias = "npt.NDArray[np.uint8] | bytes"

_PER_ROW = ("target", "source", "names", "labels", "tags", "pictures", "target_texts", "source_texts")


@dataclass(frozen=True, eq=False)
class Item:
    """What can be shown of one row of a data set; None or empty if the set does not have it.

    ``picture`` is a uint8 array (height x width, grey) or the bytes of an image file.
    """

    name: str
    label: str | None
    picture: Picture | None
    target_text: str | None
    source_text: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PairedDataset:
    """Rows seen in two domains: row ``i`` of ``target`` and row ``i`` of ``source`` are the same thing.

    Parameters
    ----------
    name : name of the data set in the registry.
    target, source : n x d_T, what exists at query time, and n x d_S, the privileged data; float64 arrays or
        ``scipy.sparse.csr_array``.
    names : n identifiers.
    labels, label_names : n class numbers, or None, and the names of the classes.
    source_only : m x d_S rows that have no counterpart in the target, or None.
    tags, tag_names : n x t, nonzero where a row carries a tag, or None, and the t names.
    pictures : n pictures (uint8 arrays, or bytes of image files), or None.
    target_texts, source_texts : n texts to show, or None.

    Examples
    --------
    >>> toy = PairedDataset("toy", np.eye(2), np.ones((2, 3)), ("a", "b"), np.array([1, 0]), ("no", "yes"))
    >>> toy.n, toy.d_target, toy.d_source
    (2, 2, 3)
    >>> toy.show(0).label
    'yes'
    >>> toy.take([1]).names
    ('b',)
    """

    name: str
    target: InMemory
    source: InMemory
    names: tuple[str, ...]
    labels: Ints | None = None
    label_names: tuple[str, ...] = ()
    source_only: InMemory | None = None
    tags: InMemory | None = None
    tag_names: tuple[str, ...] = ()
    pictures: Sequence[Picture] | npt.NDArray[np.uint8] | None = None
    target_texts: Sequence[str] | None = None
    source_texts: Sequence[str] | None = None

    def __post_init__(self) -> None:
        n = self.n
        for field in _PER_ROW:
            value = getattr(self, field)
            rows = n if value is None else value.shape[0] if hasattr(value, "shape") else len(value)
            if rows != n:
                raise ValueError(f"{field} has {rows} rows and target has {n}; they must be equal.")
        columns = self.d_source if self.source_only is None else self.source_only.shape[1]
        if columns != self.d_source:
            raise ValueError(f"source_only has {columns} columns and source has {self.d_source}; they must be equal.")
        if self.labels is not None and n and self.labels.max() >= len(self.label_names):
            raise ValueError(f"labels go up to {self.labels.max()}, but there are {len(self.label_names)} names.")
        if self.tags is not None and self.tags.shape[1] != len(self.tag_names):
            raise ValueError(f"tags has {self.tags.shape[1]} columns, but there are {len(self.tag_names)} names.")

    @property
    def n(self) -> int:
        """Number of paired rows."""
        return int(self.target.shape[0])

    @property
    def d_target(self) -> int:
        """Number of target columns."""
        return int(self.target.shape[1])

    @property
    def d_source(self) -> int:
        """Number of source columns."""
        return int(self.source.shape[1])

    def show(self, i: int) -> Item:
        """Return what can be shown of row ``i``."""
        if not 0 <= i < self.n:
            raise IndexError(f"i={i!r} must be a row number from 0 to {self.n - 1}.")
        carried = [] if self.tags is None else self.tags[[i]].nonzero()[1].tolist()
        return Item(
            name=self.names[i],
            label=None if self.labels is None else self.label_names[int(self.labels[i])],
            picture=None if self.pictures is None else cast("Picture", self.pictures[i]),
            target_text=None if self.target_texts is None else self.target_texts[i],
            source_text=None if self.source_texts is None else self.source_texts[i],
            tags=tuple(self.tag_names[j] for j in carried),
        )

    def take(self, rows: npt.ArrayLike) -> PairedDataset:
        """Keep only the given paired rows, in the given order; ``source_only`` stays whole."""
        index = np.asarray(rows)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        return replace(self, **{field: _take(getattr(self, field), index) for field in _PER_ROW})


def _take(values: Any, index: Ints) -> Any:
    """Select rows of an array, of a sequence, or of a sequence with a lazy ``take`` of its own."""
    if values is None:
        return None
    if hasattr(values, "shape"):
        return values[index]
    if hasattr(values, "take"):
        return values.take(index)
    return tuple(values[i] for i in index.tolist())
