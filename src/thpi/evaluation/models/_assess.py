"""How well a fitted model retrieves, for any meaning of "relevant", beside searches that need no such model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from thpi._types import Array, Bools, Codes, Floats, InMemory, Ints
from thpi.auto import LEAST_NEAR, Relevance, Spaces, find_relevance
from thpi.base import BaseHasher, TooManyBitsError, Views
from thpi.encoder import Coding, Encoder
from thpi.evaluation import (
    MEASURES,
    DistanceHistograms,
    Measured,
    PairedDifference,
    RadiusChoice,
    Relevant,
    distance_histograms,
    label_relevance,
    measured,
    multilabel_relevance,
    nearest_relevance,
    paired_difference,
    parse_measure,
    radius_for_precision,
    radius_relevance,
)
from thpi.evaluation._evaluate import (
    Request,
    check_precision,
    compute,
    compute_distances,
    is_of_ranks,
    parse_measures,
)
from thpi.hashers import ITQ, SourceFeatures
from thpi.index import Order, asymmetric_distances
from thpi.pairing import stack
from thpi.report import Scale, new_axes, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_K = (1, 10, 100)
_CURVE_POINTS = 40
_ORDERS: dict[Order, tuple[str, str]] = {"hamming": ("model", "ITQ"), "asymmetric": ("asymmetric", "ITQ asymmetric")}
_STYLES = {
    "model": ("#0072B2", "-"),
    "asymmetric": ("#0072B2", "--"),
    "ITQ": ("#D55E00", "-"),
    "ITQ asymmetric": ("#D55E00", "--"),
    "exact": ("#000000", "-"),
    "random": ("#999999", ":"),
}


class Judged(NamedTuple):
    """Target rows and what may decide which are relevant: their labels (or tags), and source rows of the same items."""

    X: InMemory
    labels: Array | None = None
    source: InMemory | None = None

    def take(self, rows: Ints) -> Judged:
        """Some of the rows."""
        labels, source = (None if part is None else part[rows] for part in (self.labels, self.source))
        return Judged(self.X[rows], labels, source)


class Truth(NamedTuple):
    """Relevance as :mod:`thpi.evaluation` takes it, and the same in words."""

    relevant: Relevant
    words: str


def find_truth(
    relevance: Relevance | str,
    queries: Judged,
    database: Judged,
    *,
    neighbours: int | None = None,
    radius: float | None = None,
    random_state: int = 0,
) -> Truth:
    """Find the database rows that are relevant to each query.

    ``relevance`` is one of :data:`thpi.RELEVANCES` or its name. If labels decide, relevant rows share the class or a
    tag of the query. Else they are the ``neighbours`` nearest in the space of the relevance, or all that are nearer
    than ``radius``. By default as many rows are near as AutoHasher assumes: 1/30 of the database, at least 5, at most
    50; for groups 1/10. Groups come from the graph over the source rows of queries and database together.

    >>> queries, database = Judged(np.array([[0.0]])), Judged(np.array([[3.0], [1.0], [2.0]]))
    >>> truth = find_truth("target", queries, database, neighbours=2)
    >>> truth.words, truth.relevant.toarray()
    ('near in target space: the 2 nearest rows', array([[False,  True,  True]]))
    """
    meaning = find_relevance(relevance) if isinstance(relevance, str) else relevance
    for name, needed in (("labels", meaning.needs_labels), ("source", meaning.needs_source)):
        if needed and (getattr(queries, name) is None or getattr(database, name) is None):
            raise ValueError(f"relevance={meaning.name!r} needs the {name} of queries and database.")
    if meaning.space is None:
        labels: tuple[Any, Any] = queries.labels, database.labels
        if labels[0].ndim == 1:
            # In blocks, for databases of millions of rows.
            return Truth(lambda start, stop: label_relevance(labels[0][start:stop], labels[1]), "same label")
        return Truth(multilabel_relevance(*labels), "a common tag")
    a, b = (meaning.space(spaces) for spaces in _spaces(queries, database, random_state))
    if radius is not None:
        if not 0 < radius < np.inf:
            raise ValueError(f"radius={radius!r} must be above 0 and finite.")
        near = radius_relevance(a, b, radius, sparse_output=True)
        return Truth(near, f"{meaning.title}: rows nearer than {radius:g}")
    k = default_neighbours(meaning, b.shape[0]) if neighbours is None else neighbours
    if not 1 <= k <= b.shape[0]:
        raise ValueError(f"neighbours={k!r} must be between 1 and the number of database rows, {b.shape[0]}.")
    return Truth(nearest_relevance(a, b, k, sparse_output=True), f"{meaning.title}: the {k:,} nearest rows")


def meaning_of(hasher: Coding, relevance: str | None, *, has_labels: bool = False) -> Relevance:
    """Return what is relevant: what is asked for, else labels if there are any, else what the model was fitted for."""
    fitted = hasher.get_params().get("relevance") if isinstance(hasher, (Encoder, BaseHasher)) else None
    return find_relevance(relevance or ("labels" if has_labels else fitted or "target"))


def draw_queries(rows: Judged, n_queries: int | None, seed: int) -> tuple[Judged, Judged]:
    """Draw queries among rows; the database are the others."""
    n = rows.X.shape[0]
    if n < 2:
        raise ValueError(f"the database has {n} rows to search; at least 2 are needed, one of them a query.")
    count = min(200, max(1, n // 5)) if n_queries is None else n_queries
    if not 1 <= count < n:
        raise ValueError(f"n_queries={count} must be at least 1 and less than the rows of the database, {n}.")
    order = np.random.RandomState(seed).permutation(n)
    return rows.take(np.sort(order[:count])), rows.take(np.sort(order[count:]))


def default_neighbours(relevance: Relevance, n_database: int) -> int:
    """Rows that are near to a query among ``n_database`` if nobody says how many.

    >>> [default_neighbours(find_relevance(name), 600) for name in ("target", "groups")]
    [20, 60]
    """
    k = max(LEAST_NEAR, round(relevance.share * n_database))
    return min(k, n_database, relevance.most or k)


def _spaces(queries: Judged, database: Judged, seed: int) -> tuple[Spaces, Spaces]:
    n = queries.X.shape[0]

    @cache  # once for both
    def groups() -> Array:
        S = stack(queries.source, database.source).astype(np.float64)
        return SourceFeatures(Views(S, S), np.random.RandomState(seed), 0).diffusion

    return (
        Spaces(queries.X, queries.labels, queries.source, lambda: groups()[:n]),
        Spaces(database.X, database.labels, database.source, lambda: groups()[n:]),
    )


class Line(NamedTuple):
    """One way to search: what it is in words, and its measures by name, one number per query or one for all.

    A query without relevant rows has NaN. ``curve`` is the recall of each query at each of the ranks of the assessment.
    """

    words: str
    values: dict[str, Floats]
    curve: Floats | None = None

    def measured(self, name: str) -> Measured | None:
        """Return a measure; None if this line has it not, as a lookup radius without codes."""
        values = self.values.get(name)
        if values is None:
            return None
        return Measured(float(values), np.nan, np.nan) if values.ndim == 0 else measured(values)


@dataclass(frozen=True)
class Assessment:
    """Lines by name: ``model``, ``asymmetric``, ``ITQ``, ``ITQ asymmetric``, ``exact``, ``random``.

    ``n_empty`` queries have no relevant row and are left out of all means. ``notes`` say what could not be measured.
    ``ranks`` are those of the curves, if asked for. ``relevance`` and ``relevant`` are the name of what is relevant and
    the same in words, if known.
    """

    lines: dict[str, Line]
    measures: tuple[str, ...]
    n_bits: int
    n_queries: int
    n_database: int
    n_empty: int
    notes: tuple[str, ...] = ()
    ranks: Ints | None = None
    radius: RadiusChoice | None = None
    relevance: str | None = None
    relevant: str | None = None

    @property
    def over_itq(self) -> dict[Order, PairedDifference]:
        """Average precision of the model minus that of ITQ in each order, paired by query; empty without ITQ."""
        if "ITQ" not in self.lines:
            return {}
        lines = {name: line.values["average_precision"] for name, line in self.lines.items()}
        kept = ~np.isnan(lines["model"])
        return {
            order: paired_difference(lines[model][kept], lines[itq][kept]) for order, (model, itq) in _ORDERS.items()
        }

    @property
    def notices(self) -> Sequence[str]:
        """What there is to say beside the numbers."""
        gains = ", ".join(
            f"{100 * d.mean:+.1f} ({100 * d.low:+.1f} to {100 * d.high:+.1f}) in {order.replace('h', 'H')} order"
            for order, d in self.over_itq.items()
        )
        return (f"Model over ITQ, points of MAP: {gains}.", *self.notes) if gains else self.notes

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        lines = {}
        for name, line in self.lines.items():
            found = {measure: line.measured(measure) for measure in self.measures}
            values = {measure: value and value._asdict() for measure, value in found.items()}
            lines[name] = {"words": line.words, "measures": values}
        return {
            "relevance": self.relevance,
            "relevant": self.relevant,
            "queries": self.n_queries,
            "queries_without_relevant": self.n_empty,
            "database": self.n_database,
            "bits": self.n_bits,
            "lines": lines,
            "over_itq": {order: gain._asdict() for order, gain in self.over_itq.items()},
            "notes": list(self.notes),
            "radius": self.radius and self.radius._asdict(),
        }

    def to_html(self) -> str:
        """Return a page that needs no network and no script; with the curves, if there are any."""
        return render("evaluation.html", found=self)

    def draw_recall(self) -> Figure:
        """Draw the mean recall among the first k rows against k, one curve per line; needs matplotlib.

        The assessment must have been made with ``curves=True``.
        """
        if self.ranks is None:
            raise ValueError("the assessment has no curves; assess(..., curves=True) computes them.")
        axis = new_axes(7.5, 4.2)
        for name, line in self.lines.items():
            assert line.curve is not None
            colour, style = _STYLES[name]
            axis.plot(self.ranks, 100 * np.nanmean(line.curve, axis=0), color=colour, linestyle=style, label=line.words)
        axis.set(xscale="log", ylim=(0, 102), xlabel=f"first k of {self.n_database:,} rows", ylabel="recall (%)")
        axis.legend(frameon=False, fontsize=8)
        return axis.figure  # type: ignore[return-value]  # not of a subfigure

    def _repr_html_(self) -> str:
        gains = {order: tuple(100 * each for each in gain[:3]) for order, gain in self.over_itq.items()}
        scale = Scale(each for gain in gains.values() for each in gain)
        return render("notebook/assessment.html", found=self, gains=gains, scale=scale)


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
    curves : whether to compute recall at all ranks too, for :meth:`Assessment.draw_recall`
    precision : a wished precision, for which :func:`radius_for_precision` chooses a radius
    random_state : of the fit of ITQ and of the halves of the queries

    >>> from thpi.evaluation import Judged, find_truth
    >>> X = np.random.RandomState(0).standard_normal((300, 8))
    >>> truth = find_truth("target", Judged(X[:50]), Judged(X[50:]))
    >>> found = assess(ITQ(8, random_state=0).fit(X[50:]), X[:50], X[50:], truth.relevant)
    >>> {name: round(line.measured("average_precision").value, 2) for name, line in found.lines.items()}
    {'model': 0.33, 'asymmetric': 0.44, 'ITQ': 0.33, 'ITQ asymmetric': 0.44, 'exact': 1.0, 'random': 0.05}
    """
    n, m = queries.shape[0], database.shape[0]
    names = _names(k, measures, m)
    ranks = np.unique(np.geomspace(1, m, _CURVE_POINTS).round().astype(np.int64)) if curves else None
    codes = hasher.transform(database) if items is None else hasher.transform_source(items)
    h = distance_histograms(hasher.transform(queries), codes, relevant, hasher.n_bits)
    if not h.n_relevant.any():
        raise ValueError("relevant marks no row of the database for any query.")
    radius = None if precision is None else radius_for_precision(h, precision, random_state=random_state)
    curve = [] if ranks is None else [("curve", MEASURES["recall"], (ranks,))]
    task = _Task(queries, database, relevant, [*parse_measures(names), *curve], h.n_relevant == 0)
    lines = {"model": task.by_codes("codes of the model, Hamming order", h)}
    lines["asymmetric"] = task.asymmetric("the same codes, asymmetric order", hasher, codes)
    itq, notes = task.itq(hasher.n_bits, random_state)
    words = "exact search of the target vectors, Euclidean order"
    itq["exact"] = task.by_distances(words, lambda rows: np.asarray(euclidean_distances(queries[rows], database)))
    words = "rows in random order (expected)"
    itq["random"] = task.by_distances(words, lambda rows: np.zeros((rows.stop - rows.start, m)))
    return Assessment(lines | itq, names, hasher.n_bits, n, m, int(task.empty.sum()), notes, ranks, radius)


def assess_rows(
    hasher: Coding,
    database: Judged,
    queries: Judged | None = None,
    *,
    relevance: str | None = None,
    n_queries: int | None = None,
    neighbours: int | None = None,
    radius: float | None = None,
    random_state: int = 0,
    **options: Any,
) -> Assessment:
    """Find out what is relevant, and :func:`assess`; this is what ``thpi evaluate`` and ``Collection.evaluate`` do.

    Without ``queries``, some rows of the database are drawn and left out of it: ``n_queries``, or 200 and at most a
    fifth. ``relevance`` is by default labels if there are any, else what the model was fitted for, else target. See
    :func:`find_truth` for ``neighbours`` and ``radius``, and :func:`assess` for further options.
    """
    meaning = meaning_of(hasher, relevance, has_labels=database.labels is not None)
    if queries is None:
        queries, database = draw_queries(database, n_queries, random_state)
    elif n_queries is not None:
        raise ValueError(f"n_queries={n_queries!r} draws rows of the database; it cannot be used with queries.")
    # Errors come before the work.
    _names(options.get("k"), options.get("measures", ()), database.X.shape[0])
    check_precision(options.get("precision"), queries.X.shape[0])
    near = {"neighbours": neighbours, "radius": radius, "random_state": random_state}
    truth = find_truth(meaning, queries, database, **near)  # type: ignore[arg-type]
    options |= {"items": database.source if hasher.is_two_sided else None, "random_state": random_state}
    found = assess(hasher, queries.X, database.X, truth.relevant, **options)
    return replace(found, relevance=meaning.name, relevant=truth.words)


def _names(k: Iterable[int] | None, measures: Iterable[str], n_database: int) -> tuple[str, ...]:
    cuts = [cut for cut in DEFAULT_K if cut <= n_database] if k is None else sorted(set(k))
    for cut in cuts:
        if not 1 <= cut <= n_database:
            raise ValueError(f"k={cut!r} must be between 1 and the number of database rows, {n_database}.")
    for name in measures:
        if parse_measure(name)[0].scope == "curve":
            raise ValueError(f"measures has {name!r}, which is a curve; numbers are needed.")
    at_k = [f"{name}@{cut}" for name in ("precision", "recall") for cut in cuts]
    return tuple(dict.fromkeys(["average_precision", *at_k, *measures]))


class _Task(NamedTuple):
    """The rows, what is relevant, and what to measure; queries that are ``empty`` have no relevant row."""

    queries: InMemory
    database: InMemory
    relevant: Relevant
    requests: list[Request]
    empty: Bools

    def itq(self, n_bits: int, seed: int) -> tuple[dict[str, Line], tuple[str, ...]]:
        """The lines of ITQ fitted on the database or, if it cannot give as many bits, a note."""
        try:
            itq = ITQ(n_bits=n_bits, random_state=seed).fit(self.database)
        except TooManyBitsError as error:
            return {}, (f"No line of ITQ: {error}",)
        words, codes = f"ITQ of {n_bits} bits, fitted on the rows searched, Hamming order", itq.transform(self.database)
        line = self.by_codes(words, distance_histograms(itq.transform(self.queries), codes, self.relevant, n_bits))
        return {"ITQ": line, "ITQ asymmetric": self.asymmetric("the same ITQ, asymmetric order", itq, codes)}, ()

    def asymmetric(self, words: str, hasher: Coding, codes: Codes) -> Line:
        """The line of a search by projections of the queries."""
        projections = np.asarray(hasher.decision_function(self.queries), dtype=np.float64)
        return self.by_distances(words, lambda rows: asymmetric_distances(projections[rows], codes))

    def by_codes(self, words: str, histograms: DistanceHistograms) -> Line:
        """The line of a search in Hamming order."""
        return self._line(words, compute(histograms, self.requests))

    def by_distances(self, words: str, distances: Callable[[slice], Floats]) -> Line:
        """The line of a search by distances of another kind, by measures of ranks."""
        requests = [request for request in self.requests if is_of_ranks(request[1])]
        shape = self.queries.shape[0], self.database.shape[0]
        return self._line(words, compute_distances(distances, self.relevant, requests, shape))

    def _line(self, words: str, found: Any) -> Line:
        """Queries without a relevant row have NaN."""
        values = {name: np.array(value, dtype=np.float64) for name, value in found.items()}
        for value in values.values():
            if value.ndim:
                value[self.empty] = np.nan
        curve = values.pop("curve", None)
        return Line(words, values, curve)
