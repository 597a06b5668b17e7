"""Ridge regression to classes or tags, then ITQ."""

from __future__ import annotations

import numpy as np

from experiments.rivals.features import FEATURES
from experiments.rivals.ridge import loo_ridge
from experiments.rivals.rival import Affine, Params, Rival, Training
from experiments.rivals.rotation import quantised


def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Turn the predicted classes."""
    W, _ = loo_ridge(training.Z, training.known_labels)
    return quantised(training.Z, W, n_bits, rng)


RIVAL = Rival("one_hot", "ridge to one-hot + ITQ", ("labels",), learn, ({"features": FEATURES},))
