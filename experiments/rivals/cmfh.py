"""Collective matrix factorization hashing (Ding, Guo and Zhou, CVPR 2014)."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from experiments.rivals.features import FEATURES, FeatureChoice, Floats
from experiments.rivals.ridge import loo_ridge
from experiments.rivals.rival import Affine, Params, Rival, Training

_ROUNDS = 30
MOST_AXES = 100
_PENALTY = 0.01


def factorised(Z: Floats, S: Floats, n_bits: int, weight: float, fit: float, rng: np.random.RandomState) -> Floats:
    """Latent factors V that both views share.

    ``weight ||S - V B||^2 + (1 - weight) ||Z - V A||^2 + fit (||V - Z P||^2 + ||V - S Q||^2)`` plus 0.01 times the
    squares of all factors, minimised by turns.
    """
    V = rng.standard_normal((len(Z), n_bits)) / np.sqrt(n_bits)
    eye = np.eye(n_bits)
    gram_z, gram_s = (rows.T @ rows + _PENALTY * np.eye(rows.shape[1]) for rows in (Z, S))
    factors = [linalg.cho_factor(gram) for gram in (gram_z, gram_s)]
    for _ in range(_ROUNDS):
        P, Q = (linalg.cho_solve(factor, rows.T @ V) for factor, rows in zip(factors, (Z, S), strict=True))
        gram = V.T @ V + _PENALTY * eye
        A, B = (np.linalg.solve(gram, V.T @ rows) for rows in (Z, S))
        left = weight * (B @ B.T) + (1 - weight) * (A @ A.T) + (2 * fit + _PENALTY) * eye
        right = weight * (S @ B.T) + (1 - weight) * (Z @ A.T) + fit * (Z @ P + S @ Q)
        V = linalg.solve(left, right.T, assume_a="pos").T
    return np.asarray(V)


def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Predict the factors by ridge regression and keep their signs as they come: the paper turns nothing."""
    Z = training.Z[:, :MOST_AXES]
    S = training.known_source.components(FeatureChoice())[training.rows]
    S = S - S.mean(axis=0)
    W, mean = loo_ridge(training.Z, factorised(Z, S, n_bits, params["weight"], params["fit"], rng))
    return Affine(W, -mean)


RIVAL = Rival(
    "cmfh", "CMFH", ("source", "groups"), learn,
    ({"features": FEATURES}, {"weight": (0.9, 0.5), "fit": (0.1, 1.0, 10.0)}),
)  # fmt: skip
