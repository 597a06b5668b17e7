"""A Hamming radius for a wished precision, measured on queries that did not choose it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from thpi._types import Seed
from thpi.evaluation._histograms import DistanceHistograms
from thpi.evaluation._measures import pooled


class RadiusChoice(NamedTuple):
    """The radius chosen on one half of the queries, and what it gives on the other half.

    ``radius`` is None if none reaches the wish; ``reached`` is then the best precision of any radius on the first half,
    else that of the radius. ``precision`` and ``recall`` are those of the other half, ``found`` the number of rows
    within the radius there. Values are NaN where there is nothing to divide by.
    """

    wish: float
    radius: int | None
    reached: float
    precision: float
    recall: float
    found: int
    n_choosing: int
    n_measuring: int

    def __str__(self) -> str:
        if self.radius is None:
            best = f"The best is {100 * self.reached:.1f} %." if self.reached == self.reached else "Nothing is found."
            return f"No radius reaches a precision of {100 * self.wish:g} % on {self.n_choosing:,} queries. {best}"
        text = f"Radius {self.radius} is the largest with a precision of at least {100 * self.wish:g} %"
        text += f" on {self.n_choosing:,} of the queries. On the other {self.n_measuring:,} it "
        if not self.found:
            return f"{text}finds nothing."
        recall = "" if self.recall != self.recall else f" and a recall of {100 * self.recall:.1f} %"
        below = ", less than wished," if self.precision < self.wish else ""
        return f"{text}has a precision of {100 * self.precision:.1f} %{below}{recall} ({self.found:,} rows found)."


def radius_for_precision(
    histograms: DistanceHistograms, precision: float, *, random_state: Seed = None
) -> RadiusChoice:
    """Choose the largest Hamming radius whose precision is at least ``precision``, which is in (0, 1].

    Precision and recall are pooled: pairs of a query and a row are counted over all queries, also over those that have
    no relevant row. A random half of the queries chooses, the other half measures: the precision of the half that
    chose is too good.

    >>> from thpi.evaluation import distance_histograms
    >>> h = distance_histograms([[0]] * 4, [[0b0], [0b1], [0b11]], [[True, True, False]] * 4, n_bits=2)
    >>> choice = radius_for_precision(h, 0.9, random_state=0)
    >>> choice.radius, choice.precision, choice.recall
    (1, 1.0, 1.0)
    """
    n = len(histograms.hist_all)
    check_precision(precision, n)
    order = check_random_state(random_state).permutation(n)
    choosing, measuring = order[: n // 2], order[n // 2 :]
    # NaN where nothing is found.
    (reached, *_), measured = (
        pooled(histograms.hist_all[half], histograms.hist_relevant[half], np.nan) for half in (choosing, measuring)
    )
    enough = np.flatnonzero(reached >= precision)  # NaN is not
    if not len(enough):
        best = float(np.nanmax(reached)) if not np.isnan(reached).all() else np.nan
        return RadiusChoice(precision, None, best, np.nan, np.nan, 0, len(choosing), len(measuring))
    radius = int(enough[-1])
    value, recall, found = (each[radius].item() for each in measured)
    reach = float(reached[radius])
    return RadiusChoice(precision, radius, reach, value, recall, found, len(choosing), len(measuring))


def check_precision(precision: float | None, n_queries: int) -> None:
    """Refuse a wish that cannot be met, or measured."""
    if precision is not None and not 0 < precision <= 1:
        raise ValueError(f"precision={precision!r} must be greater than 0 and at most 1.")
    if precision is not None and n_queries < 2:
        raise ValueError(f"precision={precision!r} needs at least 2 queries, one half to choose and one to measure.")
