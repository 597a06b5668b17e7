"""Iterative quantisation from a given start, also where there are more bits than dimensions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thpi.solvers.procrustes import polar
from thpi.solvers.quantisation import losses, overlap_settled, to_signs

__all__ = ["FrameResult", "frame_quantisation"]

Array = npt.NDArray[Any]


class FrameResult(NamedTuple):
    """``R`` (p x c), the loss after each iteration, and whether it settled."""

    R: Array
    objective: list[float]
    converged: bool


def frame_quantisation(Y: Array, start: Array, *, tol: float = 1e-6, max_iter: int = 150) -> FrameResult:
    """Minimise ``||B - Y R||_F^2`` over codes B (n x c) and ``R`` (p x c), from codes ``start`` (n x c, real values).

    Where p = c this is ITQ with R a rotation. Where p < c (fewer dimensions than bits) R has orthonormal rows: then
    ``||Y R|| = ||Y||`` still holds, so that both steps, ``B = sgn(Y R)`` and ``R = polar(Y'B)``, are exact and the
    loss never rises. The code is a quantised tight frame: bits beyond the p-th are further hyperplanes through the
    same p dimensions. As in :func:`thpi.solvers.quantisation.iterative_quantisation` the signs are taken ahead, at
    ``R + (R - R_before)``, and again at R where that does not lower the loss.

    >>> Y = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> round(frame_quantisation(Y, Y + 0.1).objective[-1], 9)
    0.0
    >>> frame_quantisation(Y, np.hstack([Y, Y[:, :1]])).R.shape
    (2, 3)
    """
    n, p = Y.shape
    c = start.shape[1]
    if p > c:
        raise ValueError(f"Y has {p} columns and start {c}; reduce Y to at most as many columns as there are bits.")
    overlaps: list[float] = []
    kept = before = np.empty(0)
    values, looked_ahead, converged = start.astype(Y.dtype), False, False
    for _ in range(max_iter):
        correlation = Y.T @ to_signs(values)
        R = polar(correlation)
        overlap = float(np.vdot(R, correlation))
        if overlaps and overlap < overlaps[-1]:
            if not looked_ahead:  # only rounding can do this, at a point where nothing is left to gain
                converged = True
                break
            values, looked_ahead = Y @ kept, False
            continue
        before, kept = kept, R
        overlaps.append(overlap)
        converged = overlap_settled(overlaps, tol)
        if converged:
            break
        looked_ahead = len(overlaps) > 1
        values = Y @ (2 * kept - before if looked_ahead else kept)
    return FrameResult(kept, losses(overlaps, float(np.vdot(Y, Y)), n * c), converged)
