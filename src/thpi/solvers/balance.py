"""Nearest balanced code: the best signs among those with as many +1 as -1 in every bit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from thpi._types import Array, Bools, Seed, Signs

__all__ = ["balanced_halves", "balanced_signs"]


def balanced_signs(M: npt.ArrayLike, random_state: Seed = None) -> Signs:
    """Return the balanced code nearest to ``M``, column by column.

    Solves the B-step of the paper for fixed ``M``::

        argmax_B <B, M>   with B in {-1, +1}^(n x c) and 1'B = 0

    In each column the larger half of the entries becomes +1 and the smaller half -1. The columns are independent, and
    selection takes linear time: no column is sorted. If ``n`` is odd, no column can sum to zero; the median entry then
    takes its own sign (+1 if it is >= 0, else -1), the better choice for <B, M>. If equal entries straddle the
    threshold, those that become +1 are drawn at random. Random numbers are used only then.

    Parameters
    ----------
    M : array of shape (n, c)
        Finite real numbers.
    random_state : int, RandomState or None
        Source of randomness for ties.

    Returns
    -------
    array of shape (n, c), int8

    Examples
    --------
    >>> balanced_signs([[0.3, -5.0], [0.1, -2.0], [0.9, -1.0], [0.2, -4.0]], random_state=0)
    array([[ 1, -1],
           [-1,  1],
           [ 1,  1],
           [-1, -1]], dtype=int8)
    """
    values = np.asarray(M)
    if values.ndim != 2 or values.shape[0] == 0:
        raise ValueError(f"M must be a 2-D array with at least one row, got shape {values.shape}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("M must hold finite numbers only, got NaN or infinity.")
    random = check_random_state(random_state)

    # Selection runs along contiguous memory.
    positive = balanced_halves(np.ascontiguousarray(values.T), random)
    return np.where(positive.T, np.int8(1), np.int8(-1))


def balanced_halves(M: Array, random: np.random.RandomState) -> Bools:
    """Return, for each row of ``M`` (c x n, finite), which entries are +1 in the nearest balanced code.

    :func:`balanced_signs` with one bit per row instead of one per column.

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
