"""A catalogue to look at: a data set, and methods fitted on a few pairs of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import thpi
from thpi._types import Bools, Floats, Ints
from thpi.datasets import PairedDataset
from thpi.evaluation import (
    label_relevance,
    mean_average_precision,
    neighbour_radius,
    radius_relevance,
    ranked_average_precision,
)
from thpi.index import HammingIndex, asymmetric_distances
from thpi.web.catalogue import Catalogue, Engine, GroundTruth, Quality
from thpi.web.comparison import compared_hashers, comparison_of, quality_of_features
from thpi.web.demos import DEMOS, Demo

BITS = (8, 16, 32, 64)
NEIGHBOURS = 50


def demo_catalogue(
    name: str = "digits",
    *,
    bits: Sequence[int] = BITS,
    random_state: int = 0,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Catalogue:
    """Load a data set of :data:`thpi.web.demos.DEMOS`, fit methods on its pairs, and measure how well each retrieves.

    Some items are held out: no method and no preprocessing sees them. They are the queries of the quality measures,
    searched among all other items, and the gallery shows them. If the page of the data set is about the source, two
    methods are fitted, at 32 bits; else every method, at every length of ``bits``. ``progress`` is called with a text,
    the number of steps done and the number of all steps.

    >>> catalogue = demo_catalogue(bits=[8])
    >>> catalogue.methods[-1], catalogue.bits, len(catalogue.gallery)
    ('AutoHasher', [8], 300)
    """
    if name not in DEMOS:
        raise ValueError(f"dataset={name!r} cannot be shown; choose one of {', '.join(DEMOS)}.")
    demo = DEMOS[name]
    hashers = _hashers(demo, bits, random_state)
    total = 1 + len(hashers)
    progress(f"loading {name}", 0, total)
    items = _load(demo, random_state)
    held_out, rest = np.arange(items.n - demo.queries, items.n), np.arange(items.n - demo.queries)
    if items.labels is None:
        raise ValueError("a data set without classes cannot be shown.")
    engines: list[Engine] = []
    quality: list[Quality] = []
    # One thread: the codes are then the same on any number of cores.
    with threadpool_limits(1):
        X, S = np.asarray(items.target), _source(items, demo, rest)
        radius = neighbour_radius(X[rest], form="plain", k=NEIGHBOURS)
        relevant = {
            "class": label_relevance(items.labels[held_out], items.labels[rest]),
            "near": radius_relevance(X[held_out], X[rest], radius),
        }
        train, unpaired = rest[: demo.pairs], rest[demo.pairs :]
        if demo.page == "source":
            quality += quality_of_features(X, held_out, rest, relevant)
        for done, (line, hasher) in enumerate(hashers):
            progress(f"fitting {line}, {hasher.n_bits} bits", 1 + done, total)
            hasher.fit(X[train], privileged=S[train], source=S[unpaired])
            engine = Engine(hasher, HammingIndex(hasher.n_bits, model=hasher.fingerprint_))
            engine.index.add(hasher.transform(X))
            quality += _quality(line, engine, X, held_out, rest, relevant)
            if line == engine.method:  # others are measured only, to compare with
                engines.append(engine)
        comparison = None
        if demo.page == "source":
            comparison = comparison_of(demo, engines, X, items.labels, held_out)
    progress("ready", total, total)
    lengths = sorted({engine.n_bits for engine in engines})
    return Catalogue(
        title=demo.title,
        engines=tuple(engines),
        description=demo.description + ("" if comparison else f" {demo.pairs} items are known in both while training."),
        vector_name=demo.vector_name,
        class_name=demo.class_name,
        items=items,
        gallery=held_out,
        truth=GroundTruth(X, items.labels, radius, quality),
        first=("LapITQPlus" if demo.page == "methods" else "AutoHasher", lengths[len(lengths) // 2]),
        comparison=comparison,
    )


def _hashers(demo: Demo, bits: Sequence[int], random_state: int) -> list[tuple[str, Any]]:
    """Return what is fitted: names of lines, and estimators."""
    if demo.page == "source":
        return compared_hashers(random_state)
    return [
        (method.__name__, method(n_bits=c, random_state=random_state)) for method in thpi.HASHERS.values() for c in bits
    ]


def _load(demo: Demo, random_state: int) -> PairedDataset:
    items = demo.load()
    return items if demo.ordered else items.take(np.random.RandomState(random_state).permutation(items.n)[: demo.rows])


def _source(items: PairedDataset, demo: Demo, rest: Ints) -> Floats:
    """Return the dense source rows; what prepares them, if anything, has not seen the queries."""
    if demo.prepare_source is None:
        return np.asarray(items.source)
    return np.asarray(demo.prepare_source().fit(items.source[rest]).transform(items.source), dtype=np.float64)


def _quality(
    line: str, engine: Engine, X: Floats, query: Ints, database: Ints, relevant: dict[str, Bools]
) -> list[Quality]:
    """Measure an engine in both orders."""
    codes = engine.index.codes[query], engine.index.codes[database]
    finer = asymmetric_distances(engine.hasher.decision_function(X[query]), codes[1])
    about: Quality = {"method": line, "bits": engine.n_bits}
    by_bits = {name: float(mean_average_precision(*codes, rows, engine.n_bits)) for name, rows in relevant.items()}
    by_size = {name: float(np.nanmean(ranked_average_precision(finer, rows))) for name, rows in relevant.items()}
    return [
        about | {"order": order} | {name: round(value, 4) for name, value in values.items()}
        for order, values in (("asymmetric", by_size), ("hamming", by_bits))
    ]
