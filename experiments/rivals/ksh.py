"""Kernel-based supervised hashing (Liu, Wang, Ji, Jiang and Chang, CVPR 2012)."""

from __future__ import annotations

import numpy as np
from scipy import linalg, optimize

from experiments.rivals.features import KERNEL, Floats
from experiments.rivals.rival import EVERY_MEANING, Affine, Params, Rival, Training

MOST_AXES = 100
_STEPS = 10


def learn(training: Training, n_bits: int, params: Params, rng: np.random.RandomState) -> Affine:
    """Fit ``codes codes' / n_bits`` to +1 for relevant and -1 for other pairs, greedily bit by bit.

    A bit maximises ``b' R b``, R the residual so far. It starts at the spectral relaxation, and its sign is then
    smoothed to tanh. ``penalty`` is that of the whitening, relative to the first axis; the paper has none.
    """
    Z = training.Z[:, :MOST_AXES]
    squares = np.einsum("ij,ij->j", Z, Z)
    scale = 1 / np.sqrt(squares + params["penalty"] * squares[0])
    U = Z * scale
    R = n_bits * np.where(training.relevant, 1.0, -1.0)
    np.fill_diagonal(R, n_bits)
    weights = np.empty((Z.shape[1], n_bits))
    G = U.T @ R @ U
    for bit in range(n_bits):
        weights[:, bit] = a = _smoothed(U, R, _leading(G))
        b = np.where(U @ a > 0, 1.0, -1.0)
        R -= np.outer(b, b)
        G -= np.outer(U.T @ b, U.T @ b)
    whole = np.zeros((training.Z.shape[1], n_bits))
    whole[: Z.shape[1]] = scale[:, None] * weights
    return Affine(whole, np.zeros(n_bits))


def _leading(G: Floats) -> Floats:
    return np.asarray(linalg.eigh(G, subset_by_index=[len(G) - 1, len(G) - 1], check_finite=False)[1][:, 0])


def _smoothed(U: Floats, R: Floats, a: Floats) -> Floats:
    """Raise ``t' R t`` with ``t = tanh(U a)`` from where the relaxation ends, of the size at which tanh still bends."""

    def loss(a: Floats) -> tuple[float, Floats]:
        t = np.tanh(U @ a)
        Rt = R @ t
        return -float(t @ Rt), -2 * (U.T @ (Rt * (1 - t * t)))

    start = a / max(float(np.std(U @ a)), 1e-12)
    return np.asarray(optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x)


RIVAL = Rival("ksh", "KSH", EVERY_MEANING, learn, ({"features": KERNEL}, {"penalty": (0.01, 0.0001, 0.1, 1.0)}))
