"""A catalogue to look at: a data set, every method fitted on a few pairs of it, at several code lengths."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thpi.web.catalogue import Catalogue, Engine, GroundTruth

__all__ = ["BITS", "DEMOS", "demo_catalogue"]

BITS = (8, 16, 32, 64)
HELD_OUT = 300
NEIGHBOURS = 50
_COMPONENTS = 100


@dataclass(frozen=True)
class Demo:
    """How a data set is shown: at most ``rows`` of it, ``pairs`` of them known in both domains while training."""

    title: str
    description: str
    vector_name: str
    class_name: str
    rows: int
    pairs: int
    options: dict[str, Any]
    prepare: Callable[[], tuple[Any, Any]]


def _nothing() -> tuple[Any, Any]:
    return None, None


def _pictures_and_tags() -> tuple[Any, Any]:
    from thpi.datasets.preprocessing import standardised

    return standardised(), _few_components()


def _texts() -> tuple[Any, Any]:
    return _few_components(), _few_components()


def _few_components() -> Any:
    """Tf-idf and a truncated SVD: in a second what the paper's preprocessing takes long for."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfTransformer(), TruncatedSVD(_COMPONENTS, n_iter=2, random_state=0))


DEMOS = {
    "digits": Demo(
        "Handwritten digits",
        "The target is the picture of a digit (240 pixels), the source its Fourier coefficients.",
        "pixels, grey 0 to 6",
        "digit",
        2000,
        100,
        {"target": "pix", "source": "fou"},
        _nothing,
    ),
    "openclipart": Demo(
        "Clip art",
        "The target is the colours of a drawing (225 colour moments), the source its tags.",
        "colour moments",
        "category",
        3000,
        300,
        {},
        _pictures_and_tags,
    ),
    "ddtp": Demo(
        "Package descriptions",
        "The target is the French description of a Debian package (counts of terms), the source the English one.",
        "counts of terms",
        "section",
        3000,
        300,
        {},
        _texts,
    ),
}
"""The data sets that can be shown."""


def demo_catalogue(
    name: str = "digits",
    data_home: str | os.PathLike[str] | None = None,
    *,
    bits: Sequence[int] = BITS,
    random_state: int = 0,
    progress: Callable[[str, int, int], None] = lambda text, done, total: None,
) -> Catalogue:
    """Load a data set, fit every method at every code length, and measure how well each retrieves.

    300 items are held out: no method and no preprocessing has seen them, quality is measured with them as queries
    among all others, and the gallery shows them. The indexes hold all items. ``progress`` is told a text and how many
    of how many steps are done.

    >>> catalogue = demo_catalogue(bits=[8])
    >>> catalogue.methods[-1], catalogue.bits, len(catalogue.gallery)
    ('KernelAutoHasher', [8], 300)
    """
    from threadpoolctl import threadpool_limits

    import thpi
    from thpi import datasets

    if name not in DEMOS:
        raise ValueError(f"dataset={name!r} cannot be shown; there are {', '.join(DEMOS)}.")
    demo = DEMOS[name]
    total = 1 + len(thpi.HASHERS) * len(bits)
    progress(f"loading {name}", 0, total)
    items = datasets.load(name, data_home, **demo.options)
    order = np.random.RandomState(random_state).permutation(items.n)[: demo.rows]
    items = items.take(order)
    items = replace(items, pictures=_in_memory(items.pictures))
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
    middle = sorted(bits)[len(bits) // 2]
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
        first=("LapITQPlus", middle),
    )


def _in_memory(pictures: Any) -> Any:
    """Read zipped pictures at once: opening the archive anew for each takes a hundred times as long."""
    from thpi.datasets._openclipart import ZippedPictures

    if not isinstance(pictures, ZippedPictures):
        return pictures
    with zipfile.ZipFile(pictures.archive) as archive:
        return tuple(archive.read(member) for member in pictures.members)


def _prepared(items: Any, demo: Demo, rest: Any) -> tuple[Any, Any, Any]:
    target_pipeline, source_pipeline = demo.prepare()
    if target_pipeline is None:
        return None, items.target, items.source
    X = target_pipeline.fit(items.target[rest]).transform(items.target)
    S = source_pipeline.fit(items.source[rest]).transform(items.source)
    return target_pipeline, np.asarray(X, dtype=np.float64), np.asarray(S, dtype=np.float64)


def _engine(hasher: Any, X: Any) -> Engine:
    from thpi.index import HammingIndex

    index = HammingIndex(hasher.n_bits)
    index.add(hasher.transform(X))
    return Engine(hasher, index)


class _Truth:
    """Relevance of the items that are no queries to those that are, and the quality measured by it."""

    def __init__(self, X: Any, labels: Any, query: Any, database: Any) -> None:
        from thpi.ground_truth import label_relevance, neighbour_radius, radius_relevance

        self.X, self.labels, self.query, self.database = X, labels, query, database
        self.radius = neighbour_radius(X[database], form="plain", k=NEIGHBOURS)
        self.relevance = {
            "class": label_relevance(labels[query], labels[database]),
            "near": radius_relevance(X[query], X[database], self.radius),
        }
        self.quality: list[dict[str, Any]] = []

    def measure(self, engine: Engine) -> None:
        from thpi.metrics import mean_average_precision

        codes = engine.index.codes
        scores = {
            kind: round(
                float(mean_average_precision(codes[self.query], codes[self.database], relevant, engine.n_bits)), 4
            )
            for kind, relevant in self.relevance.items()
        }
        self.quality.append({"method": engine.method, "bits": engine.n_bits, **scores})

    def ground_truth(self) -> GroundTruth:
        return GroundTruth(self.X, self.labels, self.radius, self.quality)
