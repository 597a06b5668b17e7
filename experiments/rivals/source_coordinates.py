"""Ridge regression from the target to coordinates of the source, then ITQ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.rivals.features import FEATURES, KERNEL, LINEAR, Floats
from experiments.rivals.ridge import loo_ridge
from experiments.rivals.rival import Affine, Learner, Params, Rival, Training
from experiments.rivals.rotation import quantised
from experiments.rivals.source import Source


def following(coordinates: Callable[[Source, Params], Floats]) -> Learner:
    """Return the learner that predicts some coordinates of the source and turns them."""

    def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
        W, _ = loo_ridge(training.Z, coordinates(training.known_source, params)[training.rows])
        return quantised(training.Z, W, n_bits, rng)

    return learn


def _components(source: Source, params: Params) -> Floats:
    return source.components(params["source_features"])


_MEANINGS = ("source", "groups")
PCA = Rival(
    "source_pca", "ridge to source PCA + ITQ", _MEANINGS, following(_components),
    ({"features": FEATURES}, {"source_features": LINEAR}),
)  # fmt: skip
KERNEL_PCA = Rival(
    "source_kernel_pca", "ridge to source kernel PCA + ITQ", _MEANINGS, following(_components),
    ({"features": FEATURES}, {"source_features": KERNEL}, {"features": FEATURES}),
)  # fmt: skip
SPECTRAL = Rival(
    "source_spectral", "ridge to source spectral coordinates + ITQ", _MEANINGS,
    following(lambda source, params: source.spectral(params["n_neighbors"], params["steps"])),
    ({"features": FEATURES}, {"n_neighbors": (10, 30), "steps": (4, 1, 16)}, {"features": FEATURES}),
)  # fmt: skip
