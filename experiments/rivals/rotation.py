"""ITQ of coordinates, also with more bits than there are coordinates; `thpi.ITQ` allows no more than these."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from experiments.rivals.features import Floats
from experiments.rivals.rival import Affine

STEPS = 40


def rotation(C: Floats, n_bits: int, rng: np.random.RandomState, steps: int = STEPS) -> Floats:
    """Return R (columns of C x n_bits) that lowers ``||sgn(C R) - C R||`` by Procrustes steps.

    R has orthonormal columns or, if there are more bits than coordinates, orthonormal rows.

    >>> R = rotation(np.random.RandomState(0).standard_normal((50, 3)), 8, np.random.RandomState(0))
    >>> R.shape, bool(np.allclose(R @ R.T, np.eye(3)))
    ((3, 8), True)
    """
    R = _nearest_orthogonal(rng.standard_normal((C.shape[1], n_bits)))
    for _ in range(steps):
        before, R = R, _nearest_orthogonal(C.T @ np.where(C @ R > 0, 1.0, -1.0))
        if np.allclose(before, R, atol=1e-6):
            break
    return R


def _nearest_orthogonal(M: Floats) -> Floats:
    U, _, Vt = linalg.svd(M, full_matrices=False, check_finite=False)
    return np.asarray(U @ Vt)


def quantised(Z: Floats, W: Floats, n_bits: int, rng: np.random.RandomState) -> Affine:
    """Hash functions from coordinates ``Z W`` of the training rows: their leading principal axes, turned by ITQ.

    Coordinates that are the same for all rows, such as those of one class, say nothing; then Z itself is turned.
    """
    V = _leading_axes(Z @ W, n_bits)
    if not V.shape[1]:
        W, V = np.eye(Z.shape[1]), _leading_axes(Z, n_bits)
    C = Z @ W
    mean = C.mean(axis=0)
    V = V @ rotation((C - mean) @ V, n_bits, rng)
    return Affine(W @ V, mean @ V)


def _leading_axes(C: Floats, most: int) -> Floats:
    if not C.shape[1]:
        return np.zeros((0, 0))
    variances, axes = linalg.eigh(np.cov(C, rowvar=False).reshape(C.shape[1], -1))
    return np.asarray(axes[:, variances > max(1e-10 * variances[-1], 1e-20)][:, ::-1][:, :most])
