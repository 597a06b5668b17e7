"""Splits of the rows into training rows, queries and the others, and differences between methods over splits."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.utils import check_random_state

from thpi._types import Floats, Ints, Seed


class Split(NamedTuple):
    """Sorted row numbers; every row is in exactly one of the three.

    Training sees ``train`` in both domains, of ``rest`` only the source, and nothing of ``query``.
    """

    train: Ints
    query: Ints
    rest: Ints


def split_rows(n_rows: int, alpha: float, random_state: Seed = None) -> Split:
    """Split rows as in the paper: ``n = round(alpha N)`` pairs, and 10 % of the others as queries.

    ``n_rows`` is N, the number of rows that exist in both domains, and ``alpha = n / (n + n_S)``, in (0, 1), the share
    of them whose target is known in training. At least one row is a query.

    >>> split = split_rows(100, 0.5, random_state=0)
    >>> len(split.train), len(split.query), len(split.rest)
    (50, 5, 45)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} must be greater than 0 and less than 1.")
    n_train = round(alpha * n_rows)
    n_query = max(1, round(0.1 * (n_rows - n_train)))
    if n_train < 2 or n_train + n_query > n_rows:
        given = f"{n_train} training rows and {n_rows - n_train} others"
        raise ValueError(f"n_rows={n_rows} with alpha={alpha} gives {given}; at least 2 and 1 are needed.")
    order = check_random_state(random_state).permutation(n_rows).astype(np.int64)
    return Split(*(np.sort(part) for part in np.split(order, [n_train, n_train + n_query])))


def database_rows(split: Split, database: Literal["rest", "train", "all"]) -> Ints:
    """Rows to search in.

    - ``"rest"``: rows that are neither trained on nor queries, as in the paper (experiments/notes/errata.md);
    - ``"train"``: the training rows, as in the code of the paper's follow-up;
    - ``"all"``: all rows that are not queries, as in a shop.

    >>> split = split_rows(100, 0.5, random_state=0)
    >>> [len(database_rows(split, which)) for which in ("rest", "train", "all")]
    [45, 50, 95]
    """
    if database == "all":
        return np.sort(np.concatenate([split.train, split.rest]))
    if database not in ("rest", "train"):
        raise ValueError(f"database={database!r} must be 'rest', 'train' or 'all'.")
    return split.rest if database == "rest" else split.train


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

    def _repr_html_(self) -> str:
        from thpi.report import render

        return render("notebook/difference.html", found=self)


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


class Measured(NamedTuple):
    """Mean of a measure over queries, with its 95 % interval (Student's t); NaN limits if it is not a mean."""

    value: float
    low: float
    high: float


def measured(values: Floats) -> Measured:
    """Mean over queries, without those that have NaN, and its interval within 0 to 1; all NaN without a value.

    >>> [round(number, 3) for number in measured(np.array([1.0, 0.5, 0.6, np.nan]))]
    [0.7, 0.043, 1.0]
    """
    kept = values[~np.isnan(values)]
    if not len(kept):
        return Measured(math.nan, math.nan, math.nan)
    mean, low, high, _ = paired_difference(kept, np.zeros_like(kept))
    return Measured(mean, float(np.maximum(low, 0.0)), float(np.minimum(high, 1.0)))
