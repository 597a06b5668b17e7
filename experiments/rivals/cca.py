"""Canonical correlation with classes or tags, then ITQ (the CCA-ITQ of Gong and Lazebnik, CVPR 2011)."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from experiments.rivals.features import FEATURES, Floats
from experiments.rivals.rival import Affine, Params, Rival, Training
from experiments.rivals.rotation import quantised

_LABEL_PENALTY = 1e-3


def canonical_directions(Z: Floats, labels: Floats, penalty: float) -> Floats:
    """Directions of Z, uncorrelated in it but for the penalty, each times its canonical correlation with the labels.

    ``penalty`` is added to the variances, relative to the first. The columns of Z are centred and orthogonal.
    """
    squares = np.einsum("ij,ij->j", Z, Z)
    scale = 1 / np.sqrt(squares + penalty * squares[0])
    Y = labels - labels.mean(axis=0)
    values, vectors = linalg.eigh(Y.T @ Y)
    values = np.maximum(values, 0.0) + max(_LABEL_PENALTY * values[-1], 1e-12)
    U, correlations, _ = linalg.svd((scale[:, None] * (Z.T @ Y)) @ (vectors / np.sqrt(values)), full_matrices=False)
    kept = correlations > 1e-6
    return np.asarray(scale[:, None] * U[:, kept] * correlations[kept])


def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Turn the canonical coordinates."""
    W = canonical_directions(training.Z, training.known_labels, params["penalty"])
    return quantised(training.Z, W, n_bits, rng)


RIVAL = Rival(
    "cca",
    "CCA with one-hot + ITQ",
    ("labels",),
    learn,
    ({"features": FEATURES, "penalty": (0.01, 0.001, 0.1, 1.0)},),
)
