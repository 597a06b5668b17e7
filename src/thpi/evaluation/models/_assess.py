"""Searching with a model and with its references, and measuring both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from thpi._types import Array, Codes, Floats, InMemory, Ints
from thpi.base import TooManyBitsError
from thpi.encoder import Coding
from thpi.evaluation import MEASURES, Relevant, Retrieval, parse_measure
from thpi.evaluation._histograms import relevance_blocks
from thpi.evaluation._radius import radius_for_precision
from thpi.evaluation._ranked import Ranked, is_of_ranks
from thpi.evaluation.models._assessment import Assessment, Line
from thpi.hashers import ITQ
from thpi.index import asymmetric_distances

DEFAULT_K = (1, 10, 100)
_BLOCK_PAIRS = 2**20  # some 50 bytes each, for distances, their order and the histograms
_CURVE_POINTS = 40


class _Task(NamedTuple):
    """The queries, the database, what is relevant, and what to measure."""

    queries: InMemory
    database: InMemory
    relevant: Relevant
    names: tuple[str, ...]
    ranks: Ints | None

    @property
    def shape(self) -> tuple[int, int]:
        return self.queries.shape[0], self.database.shape[0]

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        n, m = self.shape
        relevant = relevance_blocks(self.relevant, n, m)
        size = max(1, _BLOCK_PAIRS // m)
        for start in range(0, n, size):
            stop = min(start + size, n)
            yield slice(start, stop), relevant(start, stop) > 0


def assess(
    hasher: Coding,
    queries: InMemory,
    database: InMemory,
    relevant: Relevant,
    *,
    items: InMemory | None = None,
    k: Iterable[int] | None = None,
    measures: Iterable[str] = (),
    curves: bool = False,
    precision: float | None = None,
    random_state: int = 0,
) -> Assessment:
    """Measure how well a fitted model retrieves, beside searches that need no such model.

    Every query is searched among the rows of ``database``, in which it must not be. The lines are the codes of the
    model in Hamming order and in asymmetric order (:func:`thpi.index.asymmetric_distances`, the default of a search by
    rows), ITQ of as many bits that is fitted on the rows of the database, in both orders too, exact Euclidean search of
    the target rows, and random order. Rows at equal distance count as in random order.

    Parameters
    ----------
    relevant : what is relevant, as :mod:`thpi.evaluation` takes it; see :func:`find_truth`
    items : source rows of the database, by which a two-sided model codes it; the references do not see them
    k : ranks of precision and recall; by default those of 1, 10 and 100 that do not exceed the database
    measures : further names of ``thpi.evaluation.MEASURES``; those of Hamming distances are of codes only
    curves : whether to compute recall at all ranks too, for :func:`draw_recall`
    precision : a wished precision, for which :func:`radius_for_precision` chooses a radius
    random_state : of the fit of ITQ and of the halves of the queries

    Examples
    --------
    >>> from thpi.evaluation import Judged, find_truth
    >>> X = np.random.RandomState(0).standard_normal((300, 8))
    >>> truth = find_truth("target", Judged(X[:50]), Judged(X[50:]))
    >>> found = assess(ITQ(8, random_state=0).fit(X[50:]), X[:50], X[50:], truth.relevant)
    >>> {name: round(line.measured("average_precision").value, 2) for name, line in found.lines.items()}
    {'model': 0.33, 'asymmetric': 0.44, 'ITQ': 0.33, 'ITQ asymmetric': 0.44, 'exact': 1.0, 'random': 0.05}
    """
    n, m = queries.shape[0], database.shape[0]
    names, ranks = _names(k, measures, m), _ranks(m) if curves else None
    task = _Task(queries, database, relevant, names, ranks)
    codes = hasher.transform(queries), hasher.transform(database) if items is None else hasher.transform_source(items)
    retrieval = Retrieval(*codes, relevant, hasher.n_bits)
    if not retrieval.histograms.n_relevant.any():
        raise ValueError("relevant marks no row of the database for any query.")
    radius = None
    if precision is not None:
        radius = radius_for_precision(retrieval.histograms, precision, random_state=random_state)
    lines = {"model": _line("codes of the model, Hamming order", retrieval, task)}
    lines["asymmetric"] = _asymmetric("the same codes, asymmetric order", task, hasher, codes[1])
    notes = []
    try:
        lines |= _itq(task, hasher.n_bits, random_state)
    except TooManyBitsError as error:
        notes.append(f"No line of ITQ: {error}")
    lines |= {"exact": _exact(task), "random": _random(task)}
    n_empty = int((retrieval.histograms.n_relevant == 0).sum())
    return Assessment(lines, names, hasher.n_bits, n, m, n_empty, tuple(notes), ranks, radius)


def _names(k: Iterable[int] | None, measures: Iterable[str], n_database: int) -> tuple[str, ...]:
    if k is None:
        cuts = [cut for cut in DEFAULT_K if cut <= n_database]
    else:
        cuts = sorted(set(k))
        for cut in cuts:
            if not 1 <= cut <= n_database:
                raise ValueError(f"k={cut!r} must be between 1 and the number of database rows, {n_database}.")
    for name in measures:
        if parse_measure(name)[0].scope == "curve":
            raise ValueError(f"measures has {name!r}, which is a curve; numbers are needed.")
    at_k = [f"{name}@{cut}" for name in ("precision", "recall") for cut in cuts]
    return tuple(dict.fromkeys(["average_precision", *at_k, *measures]))


def _of_ranks(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if is_of_ranks(parse_measure(name)[0]))


def _ranks(n_database: int) -> Ints:
    return np.unique(np.geomspace(1, n_database, _CURVE_POINTS).round().astype(np.int64))


def _line(words: str, retrieval: Retrieval | Ranked, task: _Task) -> Line:
    """Measure one search; queries without a relevant row have NaN."""
    empty = retrieval.histograms.n_relevant == 0
    values = {}
    for name in task.names:
        measure, arguments = parse_measure(name)
        value: Any = np.array(measure.compute(retrieval, *arguments), dtype=np.float64)
        if value.ndim:
            value[empty] = np.nan
        values[name] = value
    if task.ranks is None:
        return Line(words, values)
    return Line(words, values, np.asarray(MEASURES["recall"].compute(retrieval, task.ranks), dtype=np.float64))


def _ranked(words: str, distances: Callable[[slice], Floats], task: _Task) -> Line:
    """Measure a search by distances that are no Hamming distances, block by block."""
    task = task._replace(names=_of_ranks(task.names))
    parts = [_line(words, Ranked(distances(rows), relevant), task) for rows, relevant in task.blocks()]
    values = {name: np.concatenate([part.values[name] for part in parts]) for name in task.names}
    curves = [part.curve for part in parts if part.curve is not None]
    return Line(words, values, np.concatenate(curves) if curves else None)


def _asymmetric(words: str, task: _Task, hasher: Coding, codes: Codes) -> Line:
    projections = np.asarray(hasher.decision_function(task.queries), dtype=np.float64)
    return _ranked(words, lambda rows: asymmetric_distances(projections[rows], codes), task)


def _itq(task: _Task, n_bits: int, seed: int) -> dict[str, Line]:
    itq = ITQ(n_bits=n_bits, random_state=seed).fit(task.database)
    codes = itq.transform(task.database)
    words = f"ITQ of {n_bits} bits, fitted on the rows searched, Hamming order"
    hamming = _line(words, Retrieval(itq.transform(task.queries), codes, task.relevant, n_bits), task)
    return {"ITQ": hamming, "ITQ asymmetric": _asymmetric("the same ITQ, asymmetric order", task, itq, codes)}


def _exact(task: _Task) -> Line:
    def distances(rows: slice) -> Floats:
        return np.asarray(euclidean_distances(task.queries[rows], task.database), dtype=np.float64)

    return _ranked("exact search of the target vectors, Euclidean order", distances, task)


def _random(task: _Task) -> Line:
    # Codes that are all alike: every row is tied.
    queries, database = (np.zeros((size, 1), dtype=np.uint8) for size in task.shape)
    task = task._replace(names=_of_ranks(task.names))
    return _line("rows in random order (expected)", Retrieval(queries, database, task.relevant, 1), task)
