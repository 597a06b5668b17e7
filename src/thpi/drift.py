"""Do new rows still look like those that a model learned from? Bit balance and projections, with a test. Numpy alone.

A model keeps, of each bit, the share of ones and the mean and standard deviation of the projection over its training
rows (at most 10,000 of them): ``bit_share_``, ``projection_mean_``, ``projection_scale_``, ``n_measured_``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from thpi._types import Floats, MatrixLike
from thpi.codes import unpack
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
    is the ratio of the standard deviations. Both are NaN for files that were written before these were kept.
    ``p_value`` is that of the most different bit, times the number of tests (Bonferroni).
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
        large = np.nanmax(np.abs(self.share_change)) >= _LEAST_CHANGE
        if not np.isnan(self.shift).all():
            large |= np.nanmax(np.abs(self.shift)) >= _LEAST_SHIFT
        return bool(self.p_value < _ALPHA and large)

    def __str__(self) -> str:
        verdict = "the rows differ from those learned from" if self.drifted else "no clear difference"
        bit = int(np.abs(self.share_change).argmax())
        change = f"{100 * float(self.share_change[bit]):+.1f}"
        text = f"{verdict} (p = {self.p_value:.2g}); rows with a one in bit {bit}: {change} percentage points"
        if np.isnan(self.shift).all():
            return text
        shift, bit = float(np.abs(self.shift).max()), int(np.abs(self.shift).argmax())
        return f"{text}; projection of bit {bit}: off by {shift:.2f} standard deviations"


def drift(model: Coding, X: MatrixLike) -> Drift:
    """Compare new rows with the training rows of a fitted hasher or encoder.

    For every bit two normal tests are made: of two shares (of ones), and of two means (of projections). A model whose
    file has no statistics is judged by the shares of its training codes or, if it has none, by a half.

    >>> import thpi
    >>> X = np.random.RandomState(0).standard_normal((400, 6))
    >>> hasher = thpi.ITQ(n_bits=4, random_state=0).fit(X[:200])
    >>> drift(hasher, X[200:]).drifted, drift(hasher, X[200:] + 1).drifted
    (False, True)
    """
    fitted, values = vars(model), np.asarray(model.decision_function(X), dtype=np.float64)
    n, new_share = len(values), (values >= 0).mean(axis=0)
    kept = "projection_mean_" in fitted
    codes = fitted.get("codes_", ())
    n_trained = int(fitted["n_measured_"]) if kept else len(codes)
    if kept:
        share = np.asarray(fitted["bit_share_"])
    else:
        share = unpack(codes, model.n_bits).mean(axis=0) if len(codes) else np.full(model.n_bits, 0.5)
    # Without training rows the half is taken as exact.
    together = (n * new_share + n_trained * share) / (n + n_trained) if n_trained else share
    part = 1 / n + (1 / n_trained if n_trained else 0.0)
    statistics = [_standardised(new_share - share, together * (1 - together) * part)]
    shift = spread = np.full(model.n_bits, np.nan)
    if kept:
        mean, scale = np.asarray(fitted["projection_mean_"]), np.asarray(fitted["projection_scale_"])
        difference, new_scale = values.mean(axis=0) - mean, values.std(axis=0)
        statistics.append(_standardised(difference, scale**2 / n_trained + new_scale**2 / n))
        shift, spread = _standardised(difference, scale**2), _standardised(new_scale, scale**2)
    z = np.concatenate(statistics)
    p = min(1.0, len(z) * erfc(float(np.abs(z).max()) / sqrt(2)))
    return Drift(n, n_trained, new_share - share, shift, spread, p)


def _standardised(difference: Floats, variance: Floats) -> Floats:
    """Differences in standard errors; 0 where nothing differs, infinity where nothing varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / np.sqrt(variance)
    return np.asarray(np.where(difference == 0, 0.0, z))
