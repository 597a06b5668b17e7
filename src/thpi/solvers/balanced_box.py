"""Projection onto the box [-1, 1] with balanced columns, the feasible set of relaxed codes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thpi._types import Array
from thpi.solvers.blocks import sum_blocks

__all__ = ["project_balanced_box", "project_from"]


def project_balanced_box(V: npt.ArrayLike, weights: npt.ArrayLike) -> Array:
    """Project columns onto the balanced box in a diagonal metric.

    ::

        argmin_B  sum_ij weights_i (B_ij - V_ij)^2    with -1 <= B <= 1 and 1'B = 0

    By the KKT conditions B_ij = clip(V_ij - mu_j / weights_i, -1, 1) with one number mu_j per column, the root
    of a piecewise linear decreasing function. Newton's method finds it in finitely many steps; a step that would leave
    the bracket is replaced by bisection.

    >>> project_balanced_box([[3.0], [0.5], [0.0]], [1.0, 1.0, 1.0])
    array([[ 1.  ],
           [-0.25],
           [-0.75]])
    """
    values = np.asarray(V)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    weight = np.asarray(weights, dtype=values.dtype)
    if values.ndim != 2 or weight.shape != values.shape[:1]:
        raise ValueError(f"V must be 2-D with one weight for each row, got shapes {values.shape} and {weight.shape}.")
    if not (np.isfinite(values).all() and np.isfinite(weight).all() and (weight > 0).all()):
        raise ValueError("V must be finite and weights finite and > 0.")
    return project_from(values, 1 / weight, np.zeros(values.shape[1], dtype=values.dtype))


def project_from(V: Array, inverse: Array, mu: Array) -> Array:
    """Project as :func:`project_balanced_box`, given one over the weights; ``mu`` (c numbers) is the first guess and
    becomes the root."""
    column = inverse[:, None]
    # Rounding error of the sum of a column; for many rows, an eighth of the last digit of their mean.
    slack = np.finfo(V.dtype).eps * max(8 * np.sqrt(len(V)), len(V) / 8)
    low, high = np.full_like(mu, -np.inf), np.full_like(mu, np.inf)
    B = np.empty_like(V)

    def clip(rows: slice) -> tuple[Array, Array]:
        return _clipped_sums(V[rows] - mu * column[rows], inverse[rows], B[rows])

    for _ in range(200):
        excess, slope = sum_blocks(clip, V)
        unfinished = np.abs(excess) > slack
        if not unfinished.any():
            break
        # The excess falls as mu grows: if it is positive, the root lies above.
        low = np.where(excess > 0, mu, low)
        high = np.where(excess < 0, mu, high)
        trial = (mu + np.divide(excess, slope, out=np.full_like(slope, np.inf), where=slope > 0)).astype(mu.dtype)
        outside = unfinished & ~((trial > low) & (trial < high))
        if outside.any():
            # Beyond these bounds every entry is at +1, or every one at -1.
            low = np.maximum(low, ((V - 1) / column).min(axis=0))
            high = np.minimum(high, ((V + 1) / column).max(axis=0))
            trial = np.where(outside, low + (high - low) / 2, trial)
        unfinished &= trial != mu
        if not unfinished.any():
            break
        mu[unfinished] = trial[unfinished]
    return B


def _clipped_sums(shifted: Array, inverse: Array, B: Array) -> tuple[Array, Array]:
    """Write ``shifted`` cut to [-1, 1] into ``B``; return the sums of its columns and how fast they fall with mu."""
    np.clip(shifted, -1, 1, out=B)
    return np.ones(len(B), dtype=B.dtype) @ B, inverse @ (shifted == B).astype(B.dtype)
