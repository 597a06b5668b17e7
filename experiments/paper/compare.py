"""Our values beside the published ones, cell by cell, for the sets whose rows are (nearly) the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from experiments.paper.published import FIGURE_BITS, METHOD_TITLES, TABLE_ALPHA, figure1, table1
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.sets import paper_set

PROTOCOL = "paper"
"""Published values are compared with values of this protocol only."""
SIX = tuple(METHOD_TITLES)[:6]
"""The paper's methods."""


@dataclass(frozen=True)
class PublishedCell:
    """A cell of Table 1 (``table`` "table1") or a point of Figure 1 ("figure1"), published and ours, in percent."""

    table: str
    dataset: str
    method: str
    bits: int
    alpha: float
    published: float
    ours: float

    @property
    def difference(self) -> float:
        """Ours minus published, in points."""
        return self.ours - self.published


def cells(results: Results, dataset: str) -> list[PublishedCell]:
    """Return all cells of a set that have a published and an own value."""
    return list(_cells(results, dataset)) if PROTOCOL in results.protocols else []


def _cells(results: Results, dataset: str) -> Iterator[PublishedCell]:
    name = paper_set(dataset).published
    for (published, bits, method), value in table1().items():
        ours = results.mean(dataset, PROTOCOL, TABLE_ALPHA, MethodRun(method, bits))
        if published == name and ours is not None:
            yield PublishedCell("table1", dataset, method, bits, TABLE_ALPHA, value, ours)
    for (published, alpha, method), value in figure1().items():
        ours = results.mean(dataset, PROTOCOL, alpha, MethodRun(method, FIGURE_BITS))
        if published == name and ours is not None:
            yield PublishedCell("figure1", dataset, method, FIGURE_BITS, alpha, value, ours)


@dataclass(frozen=True)
class Agreement:
    """How close a set comes to the published values.

    ``distance`` maps "table1" and "figure1" to the mean absolute difference in points and the number of cells, and each
    method to the same over all of its cells. ``lsh_near`` counts the cells of LSH within 2 points. ``tau`` is Kendall's
    rank correlation with the published order of the six methods, mean over code lengths. ``rising`` lists the methods
    whose curve over alpha ends above where it begins, as all published ones do.
    """

    distance: dict[str, tuple[float, int]]
    lsh_near: tuple[int, int]
    tau: float | None
    rising: tuple[str, ...]


def agreement(results: Results, dataset: str) -> Agreement | None:
    """Compare a set with the published values; None where there is nothing to compare."""
    found = cells(results, dataset)
    if not found:
        return None
    groups = {name: [c for c in found if c.table == name] for name in ("table1", "figure1")}
    groups |= {METHOD_TITLES[method]: [c for c in found if c.method == method] for method in SIX}
    distance = {
        name: (float(np.mean([abs(c.difference) for c in group])), len(group))
        for name, group in groups.items()
        if group
    }
    lsh = [abs(c.difference) <= 2 for c in groups["LSH"]]
    curves = {method: sorted((c.alpha, c.ours) for c in groups["figure1"] if c.method == method) for method in SIX}
    rising = tuple(METHOD_TITLES[m] for m, curve in curves.items() if len(curve) > 1 and curve[-1][1] > curve[0][1])
    return Agreement(distance, (sum(lsh), len(lsh)), _tau(groups["table1"]), rising)


def _tau(found: list[PublishedCell]) -> float | None:
    by_bits = {bits: [c for c in found if c.bits == bits] for bits in sorted({c.bits for c in found})}
    taus = [
        float(kendalltau([c.published for c in row], [c.ours for c in row]).statistic)
        for row in by_bits.values()
        if len(row) == len(SIX)
    ]
    return float(np.mean(taus)) if taus else None
