"""The declaration of a measure, and the checks and averages that measures share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from thpi._types import Floats, Ints

if TYPE_CHECKING:
    from thpi.metrics._precision_recall_curve import PrecisionRecallCurve

Scope = Literal["query", "pooled", "curve"]
EmptyRule = Literal["omit", "zero"]
Value: TypeAlias = "Floats | float | PrecisionRecallCurve"


@dataclass(frozen=True)
class Measure:
    """One entry of the table of measures.

    ``scope`` is the kind of result: one number per query, one number pooled over queries, or a curve.
    ``compute`` takes a ``Retrieval`` and, if ``parameter`` is given, one integer (written ``name@integer``).
    """

    name: str
    scope: Scope
    compute: Callable[..., Value]
    parameter: str | None = None


@dataclass(frozen=True)
class QueryMean:
    """A mean over queries, and the number of queries without a value.

    >>> float(QueryMean(value=0.5, n_queries=10, n_empty=2))
    0.5
    """

    value: float
    n_queries: int
    n_empty: int

    def __float__(self) -> float:
        return self.value


def query_mean(values: npt.ArrayLike, *, empty: EmptyRule = "omit") -> QueryMean:
    """Average a measure over queries; NaN marks a query without relevant rows.

    Those are counted in ``n_empty``. They are left out of the mean (``empty="omit"``; NaN if none remain) or count
    as 0 (``empty="zero"``).

    >>> query_mean([1.0, 0.5, np.nan])
    QueryMean(value=0.75, n_queries=3, n_empty=1)
    >>> query_mean([1.0, 0.5, np.nan], empty="zero").value
    0.5
    """
    if empty not in get_args(EmptyRule):
        raise ValueError(f"empty={empty!r} must be one of {sorted(get_args(EmptyRule))}.")
    array = np.asarray(values, dtype=np.float64)
    undefined = np.isnan(array)
    kept = np.where(undefined, 0.0, array) if empty == "zero" else array[~undefined]
    value = float(kept.mean()) if kept.size else math.nan
    return QueryMean(value=value, n_queries=array.size, n_empty=int(undefined.sum()))


def check_integers(values: npt.ArrayLike, *, name: str, minimum: int) -> Ints:
    """Return one integer or a list of integers as a checked 1-D array."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array < minimum).any():
        raise ValueError(f"{name}={values!r} must be an integer >= {minimum}, or a list of them.")
    return array.astype(np.int64)


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike, *, otherwise: float) -> Floats:
    """Divide, with ``otherwise`` where the denominator is 0.

    >>> ratio([1, 0], [2, 0], otherwise=0.0)
    array([0.5, 0. ])
    """
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    result = np.full(top.shape, otherwise)
    np.divide(top, bottom, out=result, where=bottom != 0)
    return result


def like(values: npt.ArrayLike, columns: Floats) -> Floats:
    """Drop the column axis if ``values`` is one integer, not a list."""
    return columns[:, 0] if np.ndim(values) == 0 else columns
