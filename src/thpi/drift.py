"""Do new rows still look like those that a model learned from? Bit balance and projections, with a test. Numpy alone.

A model keeps, of each bit, the share of ones and the mean and standard deviation of the projection over its training
rows (at most 10,000 of them): ``bit_share_``, ``projection_mean_``, ``projection_scale_``, ``n_measured_``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from thpi._types import Floats, MatrixLike
from thpi.encoder import Coding

__all__ = ["Drift", "drift"]

_ALPHA = 0.01
_LEAST_SHIFT = 0.1  # standard deviations of a projection
_LEAST_CHANGE = 0.05  # share of ones of a bit


@dataclass(frozen=True)
class Drift:
    """How new rows differ from the training rows, bit by bit; the result of :func:`drift`.

    ``share_change`` is the share of ones among the new rows less that among the training rows. ``shift`` is the mean
    projection of the new rows less that of the training rows, in standard deviations of the training rows; ``spread``
    is the ratio of the standard deviations. ``p_value`` is that of the most different bit, times the number of tests
    (Bonferroni).
    """

    n_rows: int
    n_trained: int
    share_change: Floats
    shift: Floats
    spread: Floats
    p_value: float

    @property
    def drifted(self) -> bool:
        """Whether the rows differ: beyond chance (1 %), by a tenth of a standard deviation or 5 % of a bit's ones."""
        large = np.abs(self.share_change).max() >= _LEAST_CHANGE or np.abs(self.shift).max() >= _LEAST_SHIFT
        return bool(self.p_value < _ALPHA and large)

    def __str__(self) -> str:
        verdict = "the rows differ from those learned from" if self.drifted else "no clear difference"
        bit, moved = int(np.abs(self.share_change).argmax()), int(np.abs(self.shift).argmax())
        return (
            f"{verdict} (p = {self.p_value:.2g}); rows with a one in bit {bit}: {100 * self.share_change[bit]:+.1f} "
            f"percentage points; projection of bit {moved}: off by {abs(self.shift[moved]):.2f} standard deviations"
        )


def drift(model: Coding, X: MatrixLike) -> Drift:
    """Compare new rows with the training rows of a fitted hasher or encoder.

    For every bit two normal tests are made: of two shares (of ones), and of two means (of projections).

    >>> import thpi
    >>> X = np.random.RandomState(0).standard_normal((400, 6))
    >>> hasher = thpi.ITQ(n_bits=4, random_state=0).fit(X[:200])
    >>> drift(hasher, X[200:]).drifted, drift(hasher, X[200:] + 1).drifted
    (False, True)
    """
    fitted = vars(model)
    if "projection_mean_" not in fitted:
        what = f"this {model.method_name} does not know how its training rows were coded"
        raise ValueError(f"{what}: it learned from rows on a cluster. Learn from rows in memory or in files.")
    share, mean, scale = (
        np.asarray(fitted[f"{name}_"]) for name in ("bit_share", "projection_mean", "projection_scale")
    )
    values, n_trained = np.asarray(model.decision_function(X), dtype=np.float64), int(fitted["n_measured_"])
    n, change, difference = len(values), (values >= 0).mean(axis=0) - share, values.mean(axis=0) - mean
    together, new_scale = share + change * n / (n + n_trained), values.std(axis=0)
    z = np.concatenate(
        [
            _standardised(change, together * (1 - together) * (1 / n + 1 / n_trained)),
            _standardised(difference, scale**2 / n_trained + new_scale**2 / n),
        ]
    )
    p = min(1.0, len(z) * erfc(float(np.abs(z).max()) / sqrt(2)))
    return Drift(n, n_trained, change, _standardised(difference, scale**2), _standardised(new_scale, scale**2), p)


def _standardised(difference: Floats, variance: Floats) -> Floats:
    """Differences in standard errors; 0 where nothing differs, infinity where nothing varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / np.sqrt(variance)
    return np.asarray(np.where(difference == 0, 0.0, z))
