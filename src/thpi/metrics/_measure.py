"""What a measure declares about itself, and the checks and averages that measures share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

Scope = Literal["query", "pooled", "curve"]
EmptyRule = Literal["omit", "zero"]


@dataclass(frozen=True)
class Measure:
    """One entry of the table of measures.

    ``scope`` says what comes back: one number a query, one number pooled over queries, or a curve.
    ``compute`` takes a ``Retrieval`` and, where ``parameter`` is named, one integer (written ``name@integer``).
    """

    name: str
    scope: Scope
    compute: Callable[..., Any]
    parameter: str | None = None


@dataclass(frozen=True)
class QueryMean:
    """A mean over queries, with the number of queries it could not be defined for.

    >>> float(QueryMean(value=0.5, n_queries=10, n_empty=2))
    0.5
    """

    value: float
    n_queries: int
    n_empty: int

    def __float__(self) -> float:
        return self.value


def query_mean(values: npt.ArrayLike, *, empty: EmptyRule = "omit") -> QueryMean:
    """Average a measure over queries; NaN marks a query without any relevant row.

    Such queries are counted in ``n_empty`` and left out of the mean (``empty="omit"``) or count as 0
    (``empty="zero"``). If all queries are left out the mean is NaN.

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


def check_integers(values: npt.ArrayLike, *, name: str, minimum: int) -> npt.NDArray[np.int64]:
    """Return one integer or a list of integers as a 1-D array, or say what is wrong."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array < minimum).any():
        raise ValueError(f"{name}={values!r} must be an integer >= {minimum}, or a list of them.")
    return array.astype(np.int64)


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike, *, otherwise: float) -> npt.NDArray[np.float64]:
    """Divide; where the denominator is 0 give ``otherwise``.

    >>> ratio([1, 0], [2, 0], otherwise=0.0)
    array([0.5, 0. ])
    """
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    result = np.full(top.shape, otherwise)
    np.divide(top, bottom, out=result, where=bottom != 0)
    return result


def like(values: npt.ArrayLike, columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Drop the column axis when one integer, not a list, was asked for."""
    return columns[:, 0] if np.ndim(values) == 0 else columns
