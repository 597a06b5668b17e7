"""The paper's Algorithm 1 for LapITQ+ to the letter, in plain numpy: what the solver is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from thpi.solvers.balance import balanced_signs
from thpi.solvers.graph_codes import BoxQP
from thpi.solvers.procrustes import random_orthonormal


def literal_algorithm(
    X: Any, S: Any, L: Any, seed: int, *, n_bits: int, lambda1: float, lambda2: float, max_iter: int = 150
) -> float:
    """Return the least objective over the iterates, from the R and P of the solver for this seed.

    The relaxed codes are solved for to a relative gap of 1e-6 and rounded to the nearest balanced codes. R and P are
    the closed forms. It ends where an iteration leaves the objective as it is, to a millionth, or after ``max_iter``.
    """
    rng = np.random.RandomState(seed)
    R, P = random_orthonormal(X.shape[1], n_bits, rng), random_orthonormal(S.shape[1], n_bits, rng)
    relaxed, values = None, []
    for _ in range(max_iter):
        M = (1 + lambda1) * X @ R + lambda1 * S @ P
        relaxed = BoxQP(L, lambda2, M.dtype).solve(M, relaxed).B
        B = balanced_signs(relaxed, rng).astype(np.float64)
        R = _nearest(X.T @ ((1 + lambda1) * B - lambda1 * S @ P))
        P = _nearest(S.T @ (B - X @ R))
        M = (1 + lambda1) * X @ R + lambda1 * S @ P
        graph = lambda2 * np.sum(B * (L @ B))
        values.append(float(-2 * np.sum(B * M) + 2 * lambda1 * np.sum((X @ R) * (S @ P)) + graph))
        if len(values) > 1 and abs(values[-1] - values[-2]) <= 1e-6 * abs(values[-2]):
            break
    return min(values)


def principal_coordinates(view: Any, n_bits: int) -> Any:
    """Centre a view and scale it so that its best ``n_bits`` directions have mean square 1, as ITQ+ does."""
    U, s, _ = np.linalg.svd(view - view.mean(axis=0), full_matrices=False)
    values = (U * s)[:, s > 1e-7 * s[0]]
    return values * np.sqrt(len(view) * len(s[:n_bits]) / np.sum(s[:n_bits] ** 2))


def _nearest(A: Any) -> Any:
    U, _, Vt = np.linalg.svd(A, full_matrices=False)
    return U @ Vt
