"""AutoHasher beside one fit of ITQ+, on the bundled digits, and how it grows; see :mod:`benchmarks._cases`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import thpi
import thpi.hashers
from benchmarks._cases import Case
from benchmarks._growth import Growth
from benchmarks.speed_pairs import pairs
from thpi.datasets import load_digits_views

__all__ = ["cases", "growths"]

PAIRS = 1_000
UNPAIRED = 10  # unpaired rows per pair in the growths


def cases(full: bool) -> Iterator[Case]:
    """Yield one case per relevance; the same in both settings."""
    data = load_digits_views("pix", "fac")
    order = np.random.RandomState(0).permutation(data.n)  # the rows come class by class
    paired, rest = order[:PAIRS], order[PAIRS:]
    X, S, unpaired = data.target[paired], data.source[paired], data.source[rest]
    y = np.asarray(data.labels)[paired]
    for relevance in thpi.RELEVANCES:

        def ours(relevance: str = relevance) -> Any:
            hasher = thpi.AutoHasher(32, relevance=relevance, random_state=0)
            return hasher.fit(X, y if relevance == "labels" else None, privileged=S, source=unpaired)

        yield Case(
            what=f"AutoHasher fit, {PAIRS:,} pairs and {len(unpaired):,} unpaired rows, 32 bits, relevance {relevance}",
            against="ITQ+ fit",
            target=20.0,
            ours=ours,
            other=lambda: thpi.ITQPlus(32, random_state=0).fit(X, privileged=S, source=unpaired),
            check=lambda ours, _: f"chose {ours.choice_}, gain {ours.gain_:+.1f}",
            repeats=3,
        )


def _prepared(n: int, method: str, relevance: str, **params: Any) -> Callable[[], Any]:
    X, S = pairs(UNPAIRED * n + n, 64, 48)
    hasher = thpi.HASHERS[method](32, relevance=relevance, random_state=0, **params)
    # Ten classes that the source knows: the largest of ten of its columns.
    y = S[:n, :10].argmax(axis=1) if relevance == "labels" else None
    return lambda: hasher.fit(X[:n], y, privileged=S[:n], source=S[n:])


def target(n: int) -> Callable[[], Any]:
    """AutoHasher, near in target space."""
    return _prepared(n, "AutoHasher", "target")


def source(n: int) -> Callable[[], Any]:
    """AutoHasher, near in source space."""
    return _prepared(n, "AutoHasher", "source")


def labels(n: int) -> Callable[[], Any]:
    """AutoHasher, same class."""
    return _prepared(n, "AutoHasher", "labels")


def groups(n: int) -> Callable[[], Any]:
    """AutoHasher, one group of the source."""
    return _prepared(n, "AutoHasher", "groups")


def kernel(n: int) -> Callable[[], Any]:
    """AutoHasher with kernels alone, near in source space."""
    return _prepared(n, "AutoHasher", "source", kernel=True)


def growths(full: bool) -> Iterator[Growth]:
    """Yield one growth per relevance, up to 100,000 pairs and a million unpaired rows."""
    sizes = (1_000, 10_000, 100_000) if full else (1_000, 10_000)
    for prepare in (target, source, labels, groups, kernel):
        what = f"{prepare.__doc__} n pairs and {UNPAIRED} n unpaired rows, 32 bits".replace(".", ":", 1)
        yield Growth(what, sizes, prepare, target=1.0, memory_target=1.0)
