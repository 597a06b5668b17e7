"""The declaration of a measure, and the checks and arithmetic that measures share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from thpi._types import Floats, Ints

EmptyRule = Literal["omit", "zero"]
Value: TypeAlias = "Floats | float | PrecisionRecallCurve"


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall of the rows at distance <= ``radius``, for each radius 0..n_bits."""

    radius: Ints
    precision: Floats
    recall: Floats


class Measure(NamedTuple):
    """One entry of the table of measures.

    ``scope`` is the kind of result: one number per query, one number pooled over queries, or a curve.
    ``compute`` takes a ``Retrieval`` and, if ``parameter`` is given, one integer (written ``name@integer``).
    """

    name: str
    scope: Literal["query", "pooled", "curve"]
    compute: Callable[..., Value]
    parameter: str | None = None


class QueryMean(NamedTuple):
    """A mean over queries, and the number of queries without a value; ``float()`` gives the mean."""

    value: float
    n_queries: int
    n_empty: int

    def __float__(self) -> float:
        return self.value


def query_mean(values: ArrayLike, *, empty: EmptyRule = "omit") -> QueryMean:
    """Average a measure over queries; NaN marks a query without relevant rows.

    Those are left out of the mean (``empty="omit"``; NaN if none remain) or count as 0 (``empty="zero"``).

    >>> query_mean([1.0, 0.5, np.nan])
    QueryMean(value=0.75, n_queries=3, n_empty=1)
    """
    if empty not in get_args(EmptyRule):
        raise ValueError(f"empty={empty!r} must be one of {sorted(get_args(EmptyRule))}.")
    array = np.asarray(values, dtype=np.float64)
    undefined = np.isnan(array)
    kept = np.where(undefined, 0.0, array) if empty == "zero" else array[~undefined]
    value = float(kept.mean()) if kept.size else math.nan
    return QueryMean(value, array.size, int(undefined.sum()))


def check_integers(values: ArrayLike, *, name: str, minimum: int) -> Ints:
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array < minimum).any():
        raise ValueError(f"{name}={values!r} must be an integer >= {minimum}, or a list of them.")
    return array.astype(np.int64)


def like(values: ArrayLike, columns: Floats) -> Floats:
    """Drop the column axis if ``values`` is one integer, not a list."""
    return columns[:, 0] if np.ndim(values) == 0 else columns


def ratio(numerator: ArrayLike, denominator: ArrayLike, *, otherwise: float) -> Floats:
    """Divide, with ``otherwise`` where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    result = np.full(top.shape, otherwise)
    np.divide(top, bottom, out=result, where=bottom != 0)
    return result


class RankSums:
    """Running sums of the weights of ranks 1, 2, ..., stored as a sum and its rounding error.

    At rank 1,000,000 the rounding error of a plain running sum is far above that of one weight, and the closed forms
    multiply it by the rank. The error of each addition is itself a float (Knuth's two-sum), so it is subtracted too.
    """

    def __init__(self, weights: Floats) -> None:
        self.high: Floats = np.concatenate(([0.0], np.cumsum(weights)))
        before, after = self.high[:-1], self.high[1:]
        virtual = after - before
        error = (before - (after - virtual)) + (weights - virtual)
        self.low: Floats = np.concatenate(([0.0], np.cumsum(error)))

    def between(self, start: Ints, stop: Ints) -> Floats:
        """Sum the weights of ranks ``start + 1 .. stop``."""
        return np.asarray((self.high[stop] - self.high[start]) + (self.low[stop] - self.low[start]))


def harmonic(n: int) -> RankSums:
    """Running sums of ``1 / rank`` up to rank ``n``: the harmonic numbers."""
    return RankSums(1.0 / np.arange(1, n + 1))
