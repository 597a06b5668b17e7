"""The form in which every loader returns its data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import InMemory, Ints

Picture: TypeAlias = "npt.NDArray[np.uint8] | bytes"

BUNDLED = Path(__file__).parent / "_bundled"
"""Folder of the data that comes with the package."""


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
    >>> toy.n, toy.show(0).label
    (2, 'yes')
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

    @property
    def n(self) -> int:
        """Number of paired rows."""
        return int(self.target.shape[0])

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
