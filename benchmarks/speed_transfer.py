"""AutoHasher beside one fit of ITQ+, on the bundled digits; see :mod:`benchmarks._cases`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import thpi
import thpi.transfer
from benchmarks._cases import Case
from thpi.datasets import load_digits_views

__all__ = ["cases"]

PAIRS = 1_000


def cases(full: bool) -> Iterator[Case]:
    """Give one case a meaning of relevant; the same in both settings."""
    data = load_digits_views("pix", "fac")
    order = np.random.RandomState(0).permutation(data.n)  # the rows come class by class
    pairs, rest = order[:PAIRS], order[PAIRS:]
    X, S, unpaired = data.target[pairs], data.source[pairs], data.source[rest]
    y = np.asarray(data.labels)[pairs]
    for relevance in thpi.transfer.RELEVANCES:

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
