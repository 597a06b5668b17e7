"""Running sums over ranks whose differences keep full precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thpi._types import Floats, Ints


@dataclass(frozen=True)
class RankSums:
    """Running sums of a weight ``w(1), w(2), ...`` over ranks, stored as a sum and its rounding error.

    The difference of two plain running sums has the rounding error of the sums, which at rank 1,000,000 is far above
    that of one weight, and the closed forms multiply it by the rank. The error of each addition is itself a
    floating-point number (Knuth's two-sum), so it is stored and subtracted as well.
    """

    high: Floats
    low: Floats

    @classmethod
    def of(cls, weights: Floats) -> RankSums:
        """Sum ``weights`` of ranks 1, 2, ..."""
        high = np.concatenate(([0.0], np.cumsum(weights)))
        before, after = high[:-1], high[1:]
        virtual = after - before
        error = (before - (after - virtual)) + (weights - virtual)
        return cls(high, np.concatenate(([0.0], np.cumsum(error))))

    def between(self, start: Ints, stop: Ints) -> Floats:
        """Sum the weights of ranks ``start + 1 .. stop``."""
        return np.asarray((self.high[stop] - self.high[start]) + (self.low[stop] - self.low[start]))


def harmonic(n: int) -> RankSums:
    """Running sums of ``1 / rank`` up to rank ``n``: the harmonic numbers.

    >>> harmonic(4).between(np.array([0, 2]), np.array([2, 4]))
    array([1.5       , 0.58333333])
    """
    return RankSums.of(1.0 / np.arange(1, n + 1))


def discount(n: int) -> RankSums:
    """Running sums of ``1 / log2(1 + rank)`` up to rank ``n``: the discounts of DCG.

    >>> discount(3).between(np.array([0]), np.array([3])).round(6)
    array([2.13093])
    """
    return RankSums.of(1.0 / np.log2(np.arange(2, n + 2)))
