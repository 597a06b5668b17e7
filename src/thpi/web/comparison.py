"""Two engines beside each other: what is found without the source, and what with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

import thpi
from thpi._types import Bools, Floats, Ints
from thpi.evaluation import ranked_average_precision
from thpi.web.catalogue import Engine, Quality
from thpi.web.demos import Demo

BITS = 32
SHOWN = 24
FLOATS, ALONE = "float features", "AutoHasher alone"
"""Lines that are measured and not served: the features themselves, and the same learner without the source."""


@dataclass(frozen=True)
class Comparison:
    """What the page says of two methods.

    ``without`` learned from the target rows of the pairs alone, ``helped`` from their source too, and from that of
    ``further`` rows. Of the ``shown`` nearest items, ``mean_without`` and ``mean_helped`` are of the same class on
    average; ``helped`` finds more for ``better`` of the ``queries`` and fewer for ``worse``. The page opens with the
    item ``typical``, for which both find nearly as many as on average: neither the best case nor the worst.
    """

    source_name: str
    pairs: int
    further: int
    queries: int
    mean_without: float
    mean_helped: float
    better: int
    worse: int
    typical: int
    without: str = "ITQ"
    helped: str = "AutoHasher"
    references: tuple[str, ...] = (FLOATS, ALONE)
    shown: int = SHOWN

    def about(self) -> dict[str, Any]:
        """Describe it for the page."""
        return asdict(self)


def compared_hashers(random_state: int) -> list[tuple[str, Any]]:
    """Return ITQ, AutoHasher, and AutoHasher without the source, which search for classes that nobody has named."""
    auto: dict[str, Any] = {"n_bits": BITS, "relevance": "groups", "random_state": random_state}
    return [
        ("ITQ", thpi.ITQ(n_bits=BITS, random_state=random_state)),
        ("AutoHasher", thpi.AutoHasher(**auto)),
        (ALONE, thpi.AutoHasher(**auto, use_source=False)),
    ]


def comparison_of(demo: Demo, engines: Sequence[Engine], X: Floats, labels: Ints, query: Ints) -> Comparison:
    """Return the comparison of two engines, without and with the source, that a demo asks for."""
    found = np.array([_found(engine, X, labels, query) for engine in engines])
    off = np.linalg.norm(found - found.mean(axis=1, keepdims=True), axis=0)
    return Comparison(
        source_name=demo.source_name,
        pairs=demo.pairs,
        further=len(X) - demo.pairs - len(query),
        queries=len(query),
        mean_without=round(float(found[0].mean()), 2),
        mean_helped=round(float(found[1].mean()), 2),
        better=int(np.count_nonzero(found[1] > found[0])),
        worse=int(np.count_nonzero(found[1] < found[0])),
        typical=int(query[off.argmin()]),
    )


def _found(engine: Engine, X: Floats, labels: Ints, query: Ints) -> Ints:
    """Return, for each query, how many of the nearest items that the page shows are of its class."""
    nearest = engine.index.search(engine.hasher.decision_function(X[query]), SHOWN + 1).ids
    pairs = zip(query, nearest, strict=True)
    return np.array([np.count_nonzero(labels[row[row != item][:SHOWN]] == labels[item]) for item, row in pairs])


def quality_of_features(X: Floats, query: Ints, database: Ints, relevant: dict[str, Bools]) -> list[Quality]:
    """Measure the rows themselves, by Euclidean distance; that is their order, whatever the order of codes."""
    distances = cdist(X[query], X[database])
    precision = {name: np.nanmean(ranked_average_precision(distances, rows)) for name, rows in relevant.items()}
    found = {name: round(float(value), 4) for name, value in precision.items()}
    return [{"method": FLOATS, "bits": BITS, "order": order, **found} for order in ("asymmetric", "hamming")]
