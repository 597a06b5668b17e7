from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from experiments.rivals.features import FeatureChoice, fit_features
from experiments.rivals.rival import Training
from experiments.rivals.source import Source


@pytest.fixture
def rng() -> np.random.RandomState:
    return np.random.RandomState(0)


@pytest.fixture
def training(rng: np.random.RandomState) -> Callable[..., Training]:
    """Give a function that makes training rows of some classes, with features of them and a source."""

    def make(n: int = 60, classes: int = 3, d: int = 6) -> Training:
        y = np.arange(n) % classes
        S = 3 * rng.standard_normal((classes, 5))[y] + rng.standard_normal((n, 5))
        X = S @ rng.standard_normal((5, d)) + rng.standard_normal((n, d))
        features = fit_features(X, FeatureChoice(), np.random.RandomState(0))
        relevant = (y[:, None] == y) & ~np.eye(n, dtype=bool)
        return Training(features.values, relevant, np.eye(classes)[y], Source(S, None, 0), np.arange(n))

    return make
