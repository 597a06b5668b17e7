"""A catalogue to look at: a data set, every method fitted on a few pairs of it, at several code lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from thpi import datasets
from thpi._types import Floats, Ints, PathLike
from thpi.datasets import Demo, PairedDataset
from thpi.web.catalogue import Catalogue, Engine, GroundTruth, Prepare, Quality

if TYPE_CHECKING:
    from thpi.base import BaseHasher

__all__ = ["BITS", "demo_catalogue"]

BITS = (8, 16, 32, 64)
HELD_OUT = 300
NEIGHBOURS = 50


def demo_catalogue(
    name: str = "digits",
    data_home: PathLike | None = None,
    *,
    bits: Sequence[int] = BITS,
    random_state: int = 0,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Catalogue:
    """Load a data set, fit every method at every code length, and measure how well each retrieves.

    300 items are held out: no method and no preprocessing sees them. They are the queries of the quality measures,
    searched among all other items, and the gallery shows them. The indexes hold all items. ``progress`` is called
    with a text, the number of steps done and the number of all steps.

    >>> catalogue = demo_catalogue(bits=[8])
    >>> catalogue.methods[-1], catalogue.bits, len(catalogue.gallery)
    ('KernelAutoHasher', [8], 300)
    """
    from threadpoolctl import threadpool_limits

    import thpi

    entry = datasets.DATASETS.get(name)
    if entry is None or entry.demo is None:
        known = ", ".join(key for key, entry in datasets.DATASETS.items() if entry.demo is not None)
        raise ValueError(f"dataset={name!r} cannot be shown; choose one of {known}.")
    demo = entry.demo
    total = 1 + len(thpi.HASHERS) * len(bits)
    progress(f"loading {name}", 0, total)
    items = datasets.load(name, data_home, **demo.options)
    items = items.take(np.random.RandomState(random_state).permutation(items.n)[: demo.rows])
    if items.pictures is not None and not isinstance(items.pictures, np.ndarray):
        items = replace(items, pictures=tuple(items.pictures))  # read zipped pictures once
    held_out, rest = np.arange(items.n - HELD_OUT, items.n), np.arange(items.n - HELD_OUT)
    engines: list[Engine] = []
    # One thread: the codes are then the same on any number of cores.
    with threadpool_limits(1):
        prepare, X, S = _prepared(items, demo, rest)
        truth = _Truth(X, items.labels, held_out, rest)
        train, unpaired = rest[: demo.pairs], rest[demo.pairs :]
        for method in thpi.HASHERS.values():
            for c in bits:
                progress(f"fitting {method.__name__}, {c} bits", 1 + len(engines), total)
                hasher = method(n_bits=c, random_state=random_state)
                hasher.fit(X[train], privileged=S[train], source=S[unpaired])
                engines.append(_engine(hasher, X))
                truth.measure(engines[-1])
    progress("ready", total, total)
    return Catalogue(
        title=demo.title,
        engines=tuple(engines),
        description=f"{demo.description} {demo.pairs} items are known in both while training.",
        vector_name=demo.vector_name,
        class_name=demo.class_name,
        items=items,
        prepare=prepare,
        gallery=held_out,
        truth=truth.ground_truth(),
        first=("LapITQPlus", sorted(bits)[len(bits) // 2]),
    )


def _prepared(items: PairedDataset, demo: Demo, rest: Ints) -> tuple[Prepare | None, Floats, Floats]:
    """Return the fitted target pipeline, if any, and the dense rows of target and source."""
    if demo.pipelines is None:
        return None, np.asarray(items.target), np.asarray(items.source)
    target, source = demo.pipelines()
    X = target.fit(items.target[rest]).transform(items.target)
    S = source.fit(items.source[rest]).transform(items.source)
    return target, np.asarray(X, dtype=np.float64), np.asarray(S, dtype=np.float64)


def _engine(hasher: BaseHasher, X: Floats) -> Engine:
    from thpi.index import HammingIndex

    index = HammingIndex(hasher.n_bits)
    index.add(hasher.transform(X))
    return Engine(hasher, index)


class _Truth:
    """Which of the other items are relevant to each held-out one, and the quality measured by it."""

    def __init__(self, X: Floats, labels: Ints | None, query: Ints, database: Ints) -> None:
        from thpi.ground_truth import label_relevance, neighbour_radius, radius_relevance

        if labels is None:
            raise ValueError("a data set without classes cannot be shown.")
        self.X, self.labels, self.query, self.database = X, labels, query, database
        self.radius = neighbour_radius(X[database], form="plain", k=NEIGHBOURS)
        self.relevance = {
            "class": label_relevance(labels[query], labels[database]),
            "near": radius_relevance(X[query], X[database], self.radius),
        }
        self.quality: list[Quality] = []

    def measure(self, engine: Engine) -> None:
        from thpi.metrics import mean_average_precision

        codes = engine.index.codes
        near, same = (
            float(mean_average_precision(codes[self.query], codes[self.database], self.relevance[kind], engine.n_bits))
            for kind in ("near", "class")
        )
        self.quality.append(
            {"method": engine.method, "bits": engine.n_bits, "class": round(same, 4), "near": round(near, 4)}
        )

    def ground_truth(self) -> GroundTruth:
        return GroundTruth(self.X, self.labels, self.radius, self.quality)
