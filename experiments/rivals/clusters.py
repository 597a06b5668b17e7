"""Clusters of the source as if they were classes, for classes that nobody has named."""

from __future__ import annotations

import numpy as np

from experiments.rivals import discriminant, one_hot
from experiments.rivals.features import FEATURES
from experiments.rivals.rival import Affine, Params, Rival, Training

_LEARNERS = {"ridge": one_hot.learn, "discriminant": discriminant.learn}


def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Learn the clusters of k-means, in the space of the source rows or in spectral coordinates."""
    clusters = training.known_source.clusters(params["space"], params["k"])[training.rows]
    return _LEARNERS[params["learner"]](training._replace(labels=clusters), n_bits, params, rng)


RIVAL = Rival(
    "clusters", "source clusters as labels + ITQ", ("groups",), learn,
    (
        {"features": FEATURES},
        {"space": ("spectral", "linear"), "k": (10, 5, 20, 40)},
        {"learner": ("ridge", "discriminant"), "shrinkage": (0.1, 0.5)},
    ),
)  # fmt: skip
