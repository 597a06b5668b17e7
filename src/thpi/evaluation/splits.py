"""Splits of the rows into training data, queries and rows with source data only; comparing methods over splits."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.utils import check_random_state

from thpi._types import Ints, Seed


class Split(NamedTuple):
    """Sorted row numbers; every row is in exactly one of the three.

    Training sees ``train`` in both domains, of ``rest`` only the source, and nothing of ``query``.
    """

    train: Ints
    query: Ints
    rest: Ints


def split_rows(n_rows: int, alpha: float, random_state: Seed = None, *, query_share: float = 0.1) -> Split:
    """Split rows as in the paper: ``n = round(alpha N)`` pairs, and 10 % of the others as queries.

    ``n_rows`` is N, the number of rows that exist in both domains, and ``alpha = n / (n + n_S)``, in (0, 1), the share
    of them whose target is known in training. ``query_share`` of the others are queries, at least one row.

    >>> split = split_rows(100, 0.5, random_state=0)
    >>> len(split.train), len(split.query), len(split.rest)
    (50, 5, 45)
    """
    for name, share in (("alpha", alpha), ("query_share", query_share)):
        if not 0 < share < 1:
            raise ValueError(f"{name}={share!r} must be greater than 0 and less than 1.")
    n_train = round(alpha * n_rows)
    n_query = max(1, round(query_share * (n_rows - n_train)))
    if n_train < 2 or n_train + n_query > n_rows:
        given = f"{n_train} training rows and {n_rows - n_train} others"
        raise ValueError(f"n_rows={n_rows} with alpha={alpha} gives {given}; at least 2 and 1 are needed.")
    order = check_random_state(random_state).permutation(n_rows).astype(np.int64)
    return Split(*(np.sort(part) for part in np.split(order, [n_train, n_train + n_query])))


def database_rows(split: Split, database: Literal["train", "all"]) -> Ints:
    """Rows to search in: the training rows, as in the paper, or all rows that are not queries, as in a shop.

    >>> database_rows(split_rows(100, 0.5, 0), "all").size
    95
    """
    if database not in ("train", "all"):
        raise ValueError(f"database={database!r} must be 'train' or 'all'.")
    return split.train if database == "train" else np.sort(np.concatenate([split.train, split.rest]))


class PairedDifference(NamedTuple):
    """Mean difference over splits and its confidence interval (NaN limits if there is only one split)."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def decided(self) -> str:
        """``"won"`` or ``"lost"`` if the interval excludes 0, else ``"open"``."""
        return "won" if self.low > 0 else "lost" if self.high < 0 else "open"


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
