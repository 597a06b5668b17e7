"""Comparing methods over splits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats


class PairedDifference(NamedTuple):
    """Mean difference over splits and its confidence interval (NaN limits if there is only one split)."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def decided(self) -> str:
        """``"won"`` or ``"lost"`` if the interval excludes 0, else ``"open"``."""
        if self.low > 0:
            return "won"
        return "lost" if self.high < 0 else "open"


def paired_difference(a: npt.ArrayLike, b: npt.ArrayLike, *, confidence: float = 0.95) -> PairedDifference:
    """Mean of ``a - b`` over splits, with Student's t interval on the differences.

    Both methods see the same splits, so the variation between splits cancels. Splits share rows, so they are
    dependent and the interval is somewhat too short: a guide, not a test at a stated level.

    >>> d = paired_difference([3.0, 4.0, 5.0], [1.0, 3.0, 2.0])
    >>> d.mean, round(d.low, 2), round(d.high, 2), d.decided
    (2.0, -0.48, 4.48, 'open')
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1 or not left.size:
        raise ValueError(f"a has shape {left.shape} and b {right.shape}; both must be 1-D, equally long, not empty.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} must be greater than 0 and less than 1.")
    difference = left - right
    mean, n = float(difference.mean()), len(difference)
    if n == 1:
        return PairedDifference(mean, math.nan, math.nan, 1)
    reach = float(stats.t.ppf((1 + confidence) / 2, n - 1) * difference.std(ddof=1) / math.sqrt(n))
    return PairedDifference(mean, mean - reach, mean + reach, n)


def transfer_efficiency(method: float, no_source: float, all_target: float) -> float | None:
    """Share of the gap between "no source" and "all target data" that a method closes; may exceed 1 or be negative.

    ``(method - no_source) / (all_target - no_source)``; None if the gap is not positive.

    >>> transfer_efficiency(31.0, 30.0, 34.0), transfer_efficiency(31.0, 30.0, 29.0)
    (0.25, None)
    """
    gap = all_target - no_source
    return (method - no_source) / gap if gap > 0 else None
