"""Codes from which classes can be told, and hash functions that follow them: SDH and its fast form."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.rivals import one_hot
from experiments.rivals.features import FEATURES, Floats
from experiments.rivals.ridge import loo_ridge
from experiments.rivals.rival import Affine, Params, Rival, Training

_ROUNDS = 5
_SWEEPS = 3
_PENALTY = 1.0


def sdh_step(B: Floats, Y: Floats, F: Floats, follow: float) -> Floats:
    """Lower ``||Y - B W||^2 + follow ||B - F||^2`` in the codes B bit by bit, W their ridge regression."""
    B = B.copy()
    W = np.linalg.solve(B.T @ B + _PENALTY * np.eye(B.shape[1]), B.T @ Y)
    Q = Y @ W.T + follow * F
    for _ in range(_SWEEPS):
        before = B.copy()
        for bit in range(B.shape[1]):
            others = B @ (W @ W[bit]) - B[:, bit] * (W[bit] @ W[bit])
            B[:, bit] = np.where(Q[:, bit] - others > 0, 1.0, -1.0)
        if np.array_equal(before, B):
            break
    return B


def fsdh_step(B: Floats, Y: Floats, F: Floats, follow: float) -> Floats:
    """Minimise ``||B - Y W||^2 + follow ||B - F||^2`` in the codes B, W the ridge regression from the labels."""
    W = np.linalg.solve(Y.T @ Y + _PENALTY * np.eye(Y.shape[1]), Y.T @ B)
    return np.where(Y @ W + follow * F > 0, 1.0, -1.0)


def _learn(fast: bool, training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Alternate between codes and the ridge regression F of the codes on the features, from ITQ of the classes."""
    Z, Y, step = training.Z, training.known_labels, fsdh_step if fast else sdh_step
    B = np.where(one_hot.learn(training, n_bits, params, rng)(Z) > 0, 1.0, -1.0)
    P, mean = loo_ridge(Z, B)
    for _ in range(_ROUNDS):
        before, B = B, step(B, Y, Z @ P + mean, params["follow"])
        if np.array_equal(before, B):
            break
        P, mean = loo_ridge(Z, B)
    return Affine(P, -mean)


SDH = Rival(
    "sdh", "SDH (Shen et al. 2015)", ("labels",), partial(_learn, False),
    ({"features": FEATURES}, {"follow": (0.01, 0.0001, 1.0)}),
)  # fmt: skip
FSDH = Rival(
    "fsdh", "FSDH (Gui et al. 2018)", ("labels",), partial(_learn, True),
    ({"features": FEATURES}, {"follow": (0.1, 0.001, 1.0)}),
)  # fmt: skip
