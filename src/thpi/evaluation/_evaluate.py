"""Every measure by name, and all of them from one pass over the codes.

Every measure is exact and computed from each query's histogram of Hamming distances. The histograms take one pass
over the codes, in blocks of bounded memory. Tied rows (equal distance) count as randomly ordered unless a measure
says otherwise. ``MEASURES`` lists all measures by the names that :func:`evaluate` accepts.
"""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from thpi.evaluation import _at_k, _average_precision, _by_radius
from thpi.evaluation._histograms import Relevant, Retrieval
from thpi.evaluation._measure import Measure, Value

MEASURES: dict[str, Measure] = {
    measure.name: measure for module in (_average_precision, _at_k, _by_radius) for measure in module.MEASURES
}
"""The measures by name."""


def evaluate(
    queries: ArrayLike,
    database: ArrayLike,
    relevance: Relevant,
    n_bits: int,
    measures: Iterable[str] = ("average_precision", "pooled_precision_recall_area"),
    *,
    gain: str = "linear",
) -> dict[str, Value]:
    """Compute several measures in one pass over the codes.

    A name is one of ``MEASURES``, with its parameter (k or radius), if any, after "@": ``"precision@10"``,
    ``"lookup_precision@2"``. The value under each name is an array with one number per query (NaN where it is
    undefined), a float for pooled measures, or a :class:`PrecisionRecallCurve`. ``gain`` is the gain of NDCG.

    >>> codes = [[0b00], [0b01], [0b10]]
    >>> evaluate([[0b00]], codes, [[True, False, True]], 2, ["average_precision", "precision@2"])
    {'average_precision': array([0.91666667]), 'precision@2': array([0.75])}
    """
    if isinstance(measures, str):
        raise ValueError(f"measures={measures!r} must be a list of names, not one string.")
    requests = [(name, *parse_measure(name)) for name in measures]
    retrieval = Retrieval(queries, database, relevance, n_bits, gain=gain)
    return {name: measure.compute(retrieval, *arguments) for name, measure, arguments in requests}


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
