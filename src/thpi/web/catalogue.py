"""What a server serves: engines to search with, and the items they find."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, Floats, Ints, is_sparse
from thpi.identity import check_same_model
from thpi.web.errors import RequestError, short

if TYPE_CHECKING:
    from thpi.datasets import PairedDataset
    from thpi.encoder import Coding
    from thpi.index import HammingIndex
    from thpi.web.comparison import Comparison

EXCERPT = 240

Quality: TypeAlias = "dict[str, str | int | float]"
"""Mean average precision of an engine: ``method``, ``bits``, ``order``, and the values ``class`` and ``near``."""

Json: TypeAlias = "dict[str, Any]"


class Prepare(Protocol):
    """Turns raw vectors into the rows that hashers take; a fitted pipeline, for instance."""

    def transform(self, X: Array, /) -> Array:
        """Return the prepared rows."""


@dataclass(frozen=True, eq=False)
class Engine:
    """A fitted hasher and an index of its codes; ``any_model`` accepts one that does not say which model made them."""

    hasher: Coding
    index: HammingIndex
    any_model: bool = False

    def __post_init__(self) -> None:
        made, held = self.hasher.n_bits, self.index.n_bits
        if made != held:
            both = f"the model gives codes of {made} bits and the index holds codes of {held}"
            raise ValueError(f"{both}; they must be equal.")
        made_by = ("the index", self.index.model), ("the model", self.hasher.fingerprint_)
        check_same_model(*made_by, any_model=self.any_model)

    @property
    def method(self) -> str:
        """Name of the hashing method."""
        return self.hasher.method_name

    @property
    def n_bits(self) -> int:
        """Length of the codes."""
        return self.index.n_bits

    def about(self) -> Json:
        """Describe the engine: method, code length, and the fingerprint of the model."""
        return {"method": self.method, "bits": self.n_bits, "fingerprint": self.hasher.fingerprint_}


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """Which items are truly relevant to one: those of its class, and those near it in target space.

    ``target`` has the prepared rows of all items, by number; near means closer than ``radius``. ``quality`` has one
    entry per engine and order.
    """

    target: Floats
    labels: Ints
    radius: float
    quality: list[Quality]

    def relevant(self, row: int | None, vector: Array | None, found: npt.ArrayLike) -> dict[str, list[bool | None]]:
        """Return for each item found whether it is relevant to item ``row``, or to a ``vector`` without a class."""
        rows = np.asarray(found, dtype=np.int64)
        centre = self.target[row] if row is not None else vector
        near = np.linalg.norm(self.target[rows] - np.asarray(centre), axis=1) < self.radius
        same = [None] * len(rows) if row is None else (self.labels[rows] == self.labels[row]).tolist()
        return {"class": same, "near": near.tolist()}


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Engines over the same items, and what the page shows of these items.

    ``items`` are rows of a data set whose row numbers are the ids in the indexes. Without them the page shows ids, and
    ``pictures``, files by id, if there are any. ``features`` are the names of the columns of a vector, by which those
    of a CSV table are found. ``prepare`` turns raw vectors into the rows that hashers take; ``gallery`` lists the ids
    shown first. With a ``comparison`` the page shows two engines side by side. :func:`create_app` has an example.
    """

    title: str
    engines: tuple[Engine, ...]
    description: str = ""
    vector_name: str = "numbers"
    class_name: str = "class"
    items: PairedDataset | None = None
    prepare: Prepare | None = None
    gallery: Array | None = None
    truth: GroundTruth | None = None
    first: tuple[str, int] | None = None
    features: tuple[str, ...] | None = None
    comparison: Comparison | None = None
    pictures: Mapping[str, Path] | None = None

    def __post_init__(self) -> None:
        if not self.engines:
            raise ValueError("engines must have at least one engine.")

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order of the engines."""
        return list(dict.fromkeys(engine.method for engine in self.engines))

    @property
    def bits(self) -> list[int]:
        """Code lengths, shortest first."""
        return sorted({engine.n_bits for engine in self.engines})

    @property
    def n_features(self) -> int:
        """Numbers in a vector to search by."""
        return self.items.d_target if self.items is not None else int(self.engines[0].hasher.n_features_in_)

    def engine(self, method: str | None, bits: int | None) -> Engine:
        """Return the engine of a method and a code length; None means the first choice."""
        first = self.first or (self.engines[0].method, self.engines[0].n_bits)
        method, bits = first[0] if method is None else method, first[1] if bits is None else bits
        lengths = {engine.n_bits: engine for engine in self.engines if engine.method == method}
        if not lengths:
            raise RequestError(422, f"method={short(method)} is not served; served are {', '.join(self.methods)}.")
        if bits not in lengths:
            served = ", ".join(map(str, lengths))
            raise RequestError(422, f"bits={short(bits)} is not served for {method}; served are {served}.")
        return lengths[bits]

    def prepared(self, vectors: Array) -> Floats:
        """Return raw vectors as the rows that hashers take."""
        if vectors.shape[1] != self.n_features:
            raise RequestError(422, f"a vector must have {self.n_features} numbers; got {vectors.shape[1]}.")
        return np.asarray(vectors if self.prepare is None else self.prepare.transform(vectors), dtype=np.float64)

    def vector_of(self, item: int | str) -> Floats:
        """Return the raw vector of an item; 404 if it is not known."""
        if self.items is None or not isinstance(item, int) or not 0 <= item < self.items.n:
            raise RequestError(404, f"the vector of item {short(item)} is not known.")
        row = self.items.target[[item]]
        vector: Floats = (row.toarray() if is_sparse(row) else row)[0]
        return vector

    def code_of(self, engine: Engine, item: int | str) -> Codes:
        """Return the code of an item; 404 if there is no such id."""
        try:
            return engine.index.get_codes([item])
        except (KeyError, ValueError, OverflowError):
            raise RequestError(404, f"id={short(item)} is not in the index.") from None

    def show(self, item: int | str) -> Json:
        """Return what the page shows of an item."""
        if self.items is None:
            has_picture = self.pictures is not None and str(item) in self.pictures
            return {"id": item, "name": str(item), "label": None, "text": None, "tags": [], "picture": has_picture}
        shown = self.items.show(int(item))
        text = shown.target_text or ""
        return {
            "id": item,
            "name": shown.name,
            "label": shown.label,
            "text": text[:EXCERPT] + "…" if len(text) > EXCERPT else text or None,
            "tags": list(shown.tags[:6]),
            "picture": shown.picture is not None,
        }

    def picture_of(self, item: str) -> bytes | Array:
        """Return the picture of an item, given as it stands in an address; 404 if there is none."""
        picture: bytes | Array | None = None
        if self.pictures is not None and item in self.pictures:
            with suppress(OSError):  # the file has gone since the start
                picture = self.pictures[item].read_bytes()
        elif self.items is not None and item.isascii() and item.isdigit() and int(item) < self.items.n:
            picture = self.items.show(int(item)).picture
        if picture is None:
            raise RequestError(404, f"there is no item {short(item)} with a picture.")
        return picture

    def page_of_items(self, offset: int, limit: int, label: str | None) -> Json:
        """Return a part of the gallery, of one class if ``label`` is given."""
        ids = self.engines[0].index.ids if self.gallery is None else self.gallery
        if label is not None:
            if self.items is None or self.items.labels is None or label not in self.items.label_names:
                raise RequestError(422, f"label={short(label)} is not a {self.class_name} of these items.")
            ids = ids[self.items.labels[ids] == self.items.label_names.index(label)]
        return {"total": len(ids), "items": [self.show(item) for item in ids[offset : offset + limit].tolist()]}

    def about(self) -> Json:
        """Describe what is served."""
        truth, labels = self.truth, self.items.label_names if self.items is not None else ()
        return {
            "title": self.title,
            "description": self.description,
            "n_items": len(self.engines[0].index),
            "n_features": self.n_features,
            "vector_name": self.vector_name,
            "class_name": self.class_name,
            "labels": list(labels),
            "methods": self.methods,
            "bits": self.bits,
            "engines": [engine.about() for engine in self.engines],
            "first": {"method": self.engine(None, None).method, "bits": self.engine(None, None).n_bits},
            "vectors_known": self.items is not None,
            "quality": None if truth is None else truth.quality,
            "comparison": None if self.comparison is None else self.comparison.about(),
        }
