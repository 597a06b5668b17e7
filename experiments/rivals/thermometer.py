"""Offsets: several thresholds on each of the strongest principal directions, like marks on a thermometer."""

from __future__ import annotations

import numpy as np

from experiments.rivals.features import FEATURES
from experiments.rivals.rival import EVERY_MEANING, Affine, Params, Rival, Training


def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Cut each direction at ``thresholds`` quantiles of the training rows; ``rotated`` turns the directions at random.

    The last direction has fewer thresholds if the bits do not divide.
    """
    Z, marks = training.Z, params["thresholds"]
    m = min(Z.shape[1], -(-n_bits // marks))
    turn = np.linalg.qr(rng.standard_normal((m, m)))[0] if params["rotated"] else np.eye(m)
    counts = [len(part) for part in np.array_split(np.arange(n_bits), m)]
    if m * marks >= n_bits:
        counts = [min(marks, n_bits - marks * j) for j in range(m)]
    weights, offsets = np.zeros((Z.shape[1], n_bits)), np.zeros(n_bits)
    start = 0
    for j, count in enumerate(counts):
        bits = slice(start, start + count)
        weights[:m, bits] = turn[:, j][:, None]
        offsets[bits] = np.quantile(Z[:, :m] @ turn[:, j], np.arange(1, count + 1) / (count + 1))
        start += count
    return Affine(weights, offsets)


RIVAL = Rival(
    "thermometer",
    "offsets on principal directions",
    EVERY_MEANING,
    learn,
    ({"features": FEATURES, "thresholds": (2, 1, 3, 4, 6, 8), "rotated": (True, False)},),
)
