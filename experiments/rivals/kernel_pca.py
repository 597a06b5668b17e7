"""Principal components of the rows or of a Gaussian kernel, then ITQ."""

from __future__ import annotations

import numpy as np

from experiments.rivals.features import FEATURES
from experiments.rivals.rival import EVERY_MEANING, Affine, Params, Rival, Training
from experiments.rivals.rotation import rotation


def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Turn the leading components."""
    kept = min(training.Z.shape[1], n_bits)
    R = rotation(training.Z[:, :kept], n_bits, rng)
    return Affine(np.vstack([R, np.zeros((training.Z.shape[1] - kept, n_bits))]), np.zeros(n_bits))


RIVAL = Rival("kernel_pca", "kernel PCA + ITQ", EVERY_MEANING, learn, ({"features": FEATURES},))
