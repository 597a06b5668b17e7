"""Linear discriminant analysis with shrinkage, then ITQ."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from experiments.rivals.features import FEATURES, Floats
from experiments.rivals.rival import Affine, Params, Rival, Training
from experiments.rivals.rotation import quantised


def discriminant_directions(Z: Floats, labels: Floats, shrinkage: float) -> Floats:
    """Directions of the largest variance between classes over that within them, each with variance 1 within.

    The covariance within classes is ``(1 - shrinkage) S + shrinkage tr(S)/d I``. A row with several tags belongs to
    each of them by an equal share, a row with none to nothing.
    """
    share = labels / np.maximum(labels.sum(axis=1, keepdims=True), 1)
    share = share[:, share.sum(axis=0) > 0]
    sizes, total = share.sum(axis=0), share.sum()
    rows = share.sum(axis=1)
    means = (share.T @ Z) / sizes[:, None]
    within = (Z.T @ (Z * rows[:, None]) - (means.T * sizes) @ means) / total
    d = len(within)
    shrunk = (1 - shrinkage) * within + shrinkage * np.trace(within) / d * np.eye(d)
    shrunk += 1e-10 * Z.var() * np.eye(d)  # classes of one row each have no variance within
    # Between classes the rank is below the number of classes: a small problem in place of one of all features.
    root = np.sqrt(sizes / total)[:, None] * (means - rows @ Z / total)
    solved = linalg.solve(shrunk, root.T, assume_a="pos")
    values, vectors = linalg.eigh(root @ solved)
    kept = values > max(1e-8 * values[-1], 1e-12)
    return np.asarray((solved @ (vectors[:, kept] / np.sqrt(values[kept])))[:, ::-1])


def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Turn the discriminant coordinates."""
    W = discriminant_directions(training.Z, training.known_labels, params["shrinkage"])
    return quantised(training.Z, W, n_bits, rng)


RIVAL = Rival(
    "discriminant",
    "shrinkage LDA + ITQ",
    ("labels",),
    learn,
    ({"features": FEATURES, "shrinkage": (0.1, 0.01, 0.5)},),
)
