"""What a method gains over another: the mean over splits, its interval, and the share of the gap that it closes."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from thpi.evaluation import paired_difference


class Gain(NamedTuple):
    """Mean difference over splits with its 95 % interval, None for one split."""

    mean: float
    low: float | None
    high: float | None
    n_splits: int

    def interval(self, digits: int = 1) -> str:
        """The interval as text, empty where there is none.

        >>> Gain(0.6, -0.25, 1.5, 3).interval(), Gain(0.6, None, None, 1).interval()
        ('-0.2 to +1.5', '')
        """
        return "" if self.low is None else f"{self.low:+.{digits}f} to {self.high:+.{digits}f}"

    def text(self, digits: int = 1) -> str:
        """Mean and interval as text.

        >>> Gain(0.6, -0.25, 1.5, 3).text(), Gain(0.6, None, None, 1).text(2)
        ('+0.6 (-0.2 to +1.5)', '+0.60')
        """
        interval = self.interval(digits)
        return f"{self.mean:+.{digits}f}" + (f" ({interval})" if interval else "")


def gain_over(values: npt.ArrayLike, base: npt.ArrayLike) -> Gain:
    """Return the gain of values over others, one per split.

    >>> gain_over([3.0, 5.0], [1.0, 2.0]).mean, gain_over([3.0], [1.0])
    (2.5, Gain(mean=2.0, low=None, high=None, n_splits=1))
    """
    mean, low, high, n = paired_difference(values, base)
    return Gain(mean, low, high, n) if n > 1 else Gain(mean, None, None, n)


def shown_share(efficiency: float | None) -> str:
    """Return a transfer efficiency as text.

    >>> shown_share(0.25), shown_share(None)
    ('25 %', 'no gap')
    """
    return "no gap" if efficiency is None else f"{100 * efficiency:.0f} %"


def transfer_efficiency(method: float, no_source: float, all_target: float) -> float | None:
    """Share of the gap between "no source" and "all target data" that a method closes; may exceed 1 or be negative.

    ``(method - no_source) / (all_target - no_source)``; None if the gap is not positive.

    >>> transfer_efficiency(31.0, 30.0, 34.0), transfer_efficiency(31.0, 30.0, 29.0)
    (0.25, None)
    """
    gap = all_target - no_source
    return (method - no_source) / gap if gap > 0 else None
