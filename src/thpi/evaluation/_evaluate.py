"""Several measures in one pass, from codes or from distances of any kind; and a radius for a wished precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from thpi._types import Array, Floats, Seed
from thpi.evaluation._histograms import (
    DistanceHistograms,
    Relevant,
    distance_histograms,
    ranking_histograms,
    relevance_in_blocks,
)
from thpi.evaluation._measures import MEASURES, Measure, Value, pooled

Request: TypeAlias = "tuple[str, Measure, tuple[Any, ...]]"
"""The name of a value, the measure, and its arguments."""

_BLOCK_PAIRS = 2**20  # some 50 bytes each, for distances, their order and the histograms


def evaluate(
    queries: ArrayLike,
    database: ArrayLike,
    relevance: Relevant,
    n_bits: int,
    measures: Iterable[str] = ("average_precision",),
    *,
    gain: str = "linear",
) -> dict[str, Value]:
    """Compute several measures in one pass over the codes.

    A name is one of ``MEASURES``, with its parameter (k or radius), if any, after "@": ``"precision@10"``,
    ``"lookup_precision@2"``. The value under each name is an array with one number per query (NaN where it is
    undefined), a float for pooled measures, or a :class:`PrecisionRecallCurve`. ``gain`` is the gain of NDCG. Tied
    rows (equal distance) count as randomly ordered.

    >>> codes = [[0b00], [0b01], [0b10]]
    >>> evaluate([[0b00]], codes, [[True, False, True]], 2, ["average_precision", "precision@2"])
    {'average_precision': array([0.91666667]), 'precision@2': array([0.75])}
    """
    requests = parse_measures(measures)
    return compute(distance_histograms(queries, database, relevance, n_bits, gain=gain), requests)


def evaluate_distances(
    distances: ArrayLike, relevance: Relevant, measures: Iterable[str] = ("average_precision",)
) -> dict[str, Floats]:
    """Compute measures of any ranking, given the distance of each query to every database row.

    The measures are those of ranks: average precision, and precision, recall and NDCG at k. Rows at equal distance
    count as in random order. ``distances`` are finite numbers, n_queries x n_database.

    >>> evaluate_distances([[0.5, 0.2, 0.2]], [[False, True, False]], ["average_precision", "recall@1"])
    {'average_precision': array([0.75]), 'recall@1': array([0.5])}
    """
    requests, d = parse_measures(measures), np.asarray(distances)
    for name, measure, _ in requests:
        if not is_of_ranks(measure):
            raise ValueError(
                f"measures has {name!r}, which needs codes; of other distances there are measures of ranks."
            )
    if d.ndim != 2 or d.dtype.kind not in "fiu" or not np.isfinite(d).all():
        raise ValueError(f"distances must be a 2-D array of finite numbers, got shape {d.shape} and dtype {d.dtype}.")
    return compute_distances(d.__getitem__, relevance, requests, d.shape)


def ranked_average_precision(distances: ArrayLike, relevance: Relevant) -> Floats:
    """Average precision of each query, given its distance to every database row; NaN if no row is relevant to it.

    As :func:`average_precision`, but for any finite distances: see :func:`thpi.index.asymmetric_distances`.

    >>> ranked_average_precision([[0.5, 0.2, 0.2]], [[False, True, False]])
    array([0.75])
    """
    return evaluate_distances(distances, relevance)["average_precision"]


def compute(histograms: DistanceHistograms, requests: Sequence[Request]) -> dict[str, Value]:
    """Compute measures that are parsed already."""
    return {name: measure.compute(histograms, *arguments) for name, measure, arguments in requests}


def compute_distances(
    distances: Callable[[slice], Array], relevance: Relevant, requests: Sequence[Request], shape: tuple[int, ...]
) -> dict[str, Floats]:
    """Compute measures of ranks that are parsed already, block by block."""
    n, m = shape
    parts: list[Any] = [
        compute(ranking_histograms(distances(rows), relevant), requests)
        for rows, relevant in relevance_in_blocks(relevance, n, m, _BLOCK_PAIRS)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name, _, _ in requests}


def is_of_ranks(measure: Measure) -> bool:
    """Whether a measure is one number per query that depends on ranks and ties alone, not on Hamming distances."""
    return measure.scope == "query" and (measure.parameter == "k" or measure.name == "average_precision")


def parse_measures(names: Iterable[str]) -> list[Request]:
    """Parse several names, with :func:`parse_measure`."""
    if isinstance(names, str):
        raise ValueError(f"measures={names!r} must be a list of names, not one string.")
    return [(name, *parse_measure(name)) for name in names]


def parse_measure(name: str) -> tuple[Measure, tuple[int, ...]]:
    """Return the measure that a name such as ``"precision@10"`` means, and its parameter, if any."""
    base, at, number = name.partition("@")
    if base not in MEASURES:
        raise ValueError(f"measures has {name!r}; the measures are {sorted(MEASURES)}.")
    measure = MEASURES[base]
    if measure.parameter is None:
        if at:
            raise ValueError(f"measures has {name!r}, but {base!r} takes no parameter.")
        return measure, ()
    if not number.isdecimal():
        raise ValueError(f"measures has {name!r}; write {measure.parameter} as in '{base}@10'.")
    return measure, (int(number),)


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
