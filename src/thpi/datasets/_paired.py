"""The form in which every loader returns its data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import InMemory, Ints

Picture: TypeAlias = "npt.NDArray[np.uint8] | bytes"

_PER_ROW = ("target", "source", "names", "labels", "tags", "pictures", "target_texts", "source_texts")


class Item(NamedTuple):
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

    ``target`` exists at query time, ``source`` is the privileged data; they are float64 arrays or
    ``scipy.sparse.csr_array``, and ``source_only`` has source rows without a counterpart. ``labels`` are class numbers,
    ``tags`` (n x t) is nonzero where a row carries a tag. ``pictures`` are uint8 arrays, or bytes of image files.

    >>> toy = PairedDataset("toy", np.eye(2), np.ones((2, 3)), ("a", "b"), np.array([1, 0]), ("no", "yes"))
    >>> toy.n, toy.d_target, toy.d_source, toy.show(0).label, toy.take([1]).names
    (2, 2, 3, 'yes', ('b',))
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
        for field in _PER_ROW:
            value = getattr(self, field)
            rows = self.n if value is None else value.shape[0] if hasattr(value, "shape") else len(value)
            if rows != self.n:
                raise ValueError(f"{field} has {rows} rows and target has {self.n}; they must be equal.")
        columns = self.d_source if self.source_only is None else self.source_only.shape[1]
        if columns != self.d_source:
            raise ValueError(f"source_only has {columns} columns and source has {self.d_source}; they must be equal.")
        if self.labels is not None and self.n and self.labels.max() >= len(self.label_names):
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

        def at(values: Any) -> Any:
            return None if values is None else values[i]

        label = None if self.labels is None else self.label_names[int(self.labels[i])]
        carried = [] if self.tags is None else self.tags[[i]].nonzero()[1].tolist()
        texts = at(self.target_texts), at(self.source_texts)
        return Item(self.names[i], label, at(self.pictures), *texts, tuple(self.tag_names[j] for j in carried))

    def take(self, rows: npt.ArrayLike) -> PairedDataset:
        """Keep only the given paired rows, in the given order; ``source_only`` stays whole."""
        index = np.asarray(rows)
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        return replace(self, **{field: _take(getattr(self, field), index) for field in _PER_ROW})


def _take(values: Any, index: Ints) -> Any:
    """Select rows of an array, of a sequence, or of a sequence with a lazy ``take`` of its own."""
    if values is None or hasattr(values, "shape"):
        return None if values is None else values[index]
    return values.take(index) if hasattr(values, "take") else tuple(values[i] for i in index.tolist())
