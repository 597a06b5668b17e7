"""Self-taught hashing (Zhang, Wang, Cai and Lu, SIGIR 2010): ITQ codes of the source, predicted from the target."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from experiments.rivals.features import FEATURES, LINEAR, FeatureChoice, Floats
from experiments.rivals.ridge import loo_ridge
from experiments.rivals.rival import Affine, Params, Rival, Training
from experiments.rivals.rotation import rotation
from experiments.rivals.source import Source

_STEPS = 20
_SOURCE_FEATURES = (*LINEAR, FeatureChoice(False, 1.0), FeatureChoice(True, 1.0))


def source_codes(source: Source, choice: FeatureChoice, n_bits: int) -> Floats:
    """ITQ codes of the source rows, as +-1."""

    def compute() -> Floats:
        C = source.components(choice)[:, :n_bits]
        return np.where(C @ rotation(C, n_bits, np.random.RandomState(source.seed)) > 0, 1.0, -1.0)

    return source.once(("codes", choice, n_bits), compute)


def learn_ridge(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Predict the bits by ridge regression."""
    B = source_codes(training.known_source, params["source_features"], n_bits)[training.rows]
    W, mean = loo_ridge(training.Z, B)
    return Affine(W, -mean)


def learn_logistic(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Predict the bits by logistic regression, all at once, with ``penalty / 2 ||W||^2`` on the weights."""
    B = source_codes(training.known_source, params["source_features"], n_bits)[training.rows]
    W, intercepts = logistic(training.Z, B, params["penalty"])
    return Affine(W, -intercepts)


def logistic(Z: Floats, B: Floats, penalty: float, steps: int = _STEPS) -> tuple[Floats, Floats]:
    """Weights and intercepts of one logistic regression for each column of B, whose values are +-1."""
    d, n_bits = Z.shape[1], B.shape[1]

    def loss(flat: Floats) -> tuple[float, Floats]:
        W, b = flat[:-n_bits].reshape(d, n_bits), flat[-n_bits:]
        margins = B * (Z @ W + b)
        slopes = -B / (1 + np.exp(np.minimum(margins, 500.0)))
        value = np.logaddexp(0, -margins).sum() + penalty / 2 * np.vdot(W, W)
        return float(value), np.concatenate([(Z.T @ slopes + penalty * W).ravel(), slopes.sum(axis=0)])

    W, mean = loo_ridge(Z, B)
    start = np.concatenate([2 * W.ravel(), 2 * mean])
    flat = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    return np.asarray(flat[:-n_bits].reshape(d, n_bits)), np.asarray(flat[-n_bits:])


_MEANINGS = ("source", "groups")
RIDGE = Rival(
    "ridge_codes", "ridge to the source's ITQ codes", _MEANINGS, learn_ridge,
    ({"features": FEATURES}, {"source_features": _SOURCE_FEATURES}),
)  # fmt: skip
LOGISTIC = Rival(
    "logistic_codes", "logistic regression to the source's ITQ codes", _MEANINGS, learn_logistic,
    ({"features": FEATURES}, {"source_features": _SOURCE_FEATURES}, {"penalty": (0.1, 1.0, 0.01, 0.001)}),
)  # fmt: skip
