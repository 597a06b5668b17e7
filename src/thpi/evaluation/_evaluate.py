"""The one way to evaluate: several measures in one pass, from codes, or from distances of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from thpi._types import Array, Floats
from thpi.evaluation._histograms import (
    DistanceHistograms,
    Relevant,
    distance_histograms,
    ranking_histograms,
    relevance_in_blocks,
)
from thpi.evaluation._measures import MEASURES, Measure, Value

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
