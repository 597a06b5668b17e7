"""Balanced columns: the nearest code with as many +1 as -1 in every bit, and the nearest relaxed code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from thpi._types import Array, Bools, Seed, Signs
from thpi.solvers.blocks import CACHED, sum_blocks

__all__ = ["balanced_halves", "balanced_signs", "project_balanced_box"]


def balanced_signs(M: npt.ArrayLike, random_state: Seed = None) -> Signs:
    """Return the balanced code (int8) nearest to ``M`` (n x c, finite), column by column: the paper's B-step.

    ::

        argmax_B <B, M>   with B in {-1, +1}^(n x c) and 1'B = 0

    In each column the larger half of the entries becomes +1, by selection in linear time. If ``n`` is odd, the median
    entry takes its own sign (+1 if it is >= 0), the better choice for <B, M>. If equal entries straddle the threshold,
    those that become +1 are drawn at random; random numbers are used only then.

    >>> balanced_signs([[0.3, -5.0], [0.1, -2.0], [0.9, -1.0], [0.2, -4.0]], random_state=0).T.tolist()
    [[1, -1, 1, -1], [-1, 1, 1, -1]]
    """
    # Selection runs along contiguous memory.
    return as_signs(balanced_halves(np.ascontiguousarray(np.asarray(M).T), check_random_state(random_state)).T)


def balanced_halves(M: Array, random: np.random.RandomState) -> Bools:
    """Return where :func:`balanced_signs` is +1, for ``M`` with one bit per row (c x n, finite).

    >>> balanced_halves(np.array([[0.3, 0.1, 0.9, 0.2]]), np.random.RandomState(0))
    array([[ True, False,  True, False]])
    """
    n, middle = M.shape[1], M.shape[1] // 2
    positive = np.empty(M.shape, dtype=np.bool_)
    for row, values in enumerate(M):
        # The lowest entry of the upper half (even n) or the median (odd n).
        threshold = np.partition(values, middle)[middle]
        above = np.greater(values, threshold, out=positive[row])
        n_positive = middle + bool(threshold >= 0) if n % 2 else middle
        n_from_tied = n_positive - np.count_nonzero(above)
        if n_from_tied > 0:
            tied = np.flatnonzero(values == threshold)
            if n_from_tied < len(tied):
                tied = random.permutation(tied)[:n_from_tied]
            above[tied] = True
    return positive


def as_signs(positive: Bools) -> Signs:
    """Return +1 where True and -1 elsewhere, as int8."""
    # Several times faster than np.where, whose branches the processor cannot predict.
    return np.asarray(2 * positive.view(np.int8) - np.int8(1), dtype=np.int8)


def project_balanced_box(V: Array, inverse: Array, mu: Array) -> Array:
    """Project columns onto the box of relaxed codes with balanced columns, in the metric 1 / ``inverse``.

    ::

        argmin_B  sum_ij (B_ij - V_ij)^2 / inverse_i    with -1 <= B <= 1 and 1'B = 0

    By the KKT conditions B_ij = clip(V_ij - mu_j inverse_i, -1, 1) with one number mu_j per column, the root of a
    piecewise linear decreasing function. Newton's method finds it in finitely many steps; a step that would leave the
    bracket is replaced by bisection. ``mu`` is the first guess and becomes the root.

    >>> project_balanced_box(np.array([[3.0], [0.5], [0.0]]), np.ones(3), np.zeros(1)).ravel()
    array([ 1.  , -0.25, -0.75])
    """
    column = inverse[:, None]
    # Rounding error of the sum of a column; for many rows, an eighth of the last digit of their mean.
    slack = np.finfo(V.dtype).eps * max(8 * np.sqrt(len(V)), len(V) / 8)
    low, high = np.full_like(mu, -np.inf), np.full_like(mu, np.inf)
    B, ones = np.empty_like(V), np.ones(len(V), dtype=V.dtype)

    def clipped_sums(rows: slice) -> tuple[Array, Array]:
        """Clip into ``B``; return the sums of the columns and how fast they fall with mu, in float64."""
        shifted, block = V[rows] - mu * column[rows], B[rows]
        np.clip(shifted, -1, 1, out=block)
        sums = ones[rows] @ block, inverse[rows] @ (shifted == block).astype(B.dtype)
        return sums[0].astype(np.float64, copy=False), sums[1].astype(np.float64, copy=False)

    for _ in range(200):
        excess, slope = clipped_sums(slice(None)) if V.nbytes <= CACHED else sum_blocks(clipped_sums, V)
        unfinished = np.abs(excess) > slack
        if not unfinished.any():
            break
        # The excess falls as mu grows: if it is positive, the root lies above.
        low, high = np.where(excess > 0, mu, low), np.where(excess < 0, mu, high)
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
