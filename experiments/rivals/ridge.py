"""Ridge regression whose penalty leave-one-out chooses."""

from __future__ import annotations

import numpy as np

from experiments.rivals.features import Floats

PENALTIES = np.logspace(-5, 1, 10)
"""Penalties, relative to the sum of squares of the first feature."""


def loo_ridge(Z: Floats, Y: Floats, penalties: Floats = PENALTIES) -> tuple[Floats, Floats]:
    """Return weights and intercepts of ridge regression of Y on Z, for the penalty of least leave-one-out error.

    The columns of Z must be centred and orthogonal, as :class:`Features` gives them. With ``Z = U diag(s)`` and the
    shares ``w = s^2 / (s^2 + penalty)`` the fitted values are ``mean + U diag(w) U'Y``, and the error of a row that is
    left out is its residual over ``1 - 1/n - sum_j w_j u_ij^2``.

    >>> Z = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    >>> weights, intercepts = loo_ridge(Z, 3 * Z + 1, np.array([1e-12]))
    >>> weights.round(6).tolist(), intercepts.tolist()
    ([[3.0]], [1.0])
    """
    n = len(Z)
    mean = Y.mean(axis=0)
    squares = np.einsum("ij,ij->j", Z, Z)
    U = Z / np.sqrt(squares)
    UY, U2, centred = U.T @ Y, U * U, Y - mean
    errors = []
    for penalty in penalties:
        w = squares / (squares + penalty * squares[0])
        left = np.maximum(1 - 1 / n - U2 @ w, 1e-6)
        errors.append(np.sum(((centred - (U * w) @ UY) / left[:, None]) ** 2))
    best = penalties[int(np.argmin(errors))] * squares[0]
    return np.asarray((np.sqrt(squares) / (squares + best))[:, None] * UY), np.asarray(mean)
