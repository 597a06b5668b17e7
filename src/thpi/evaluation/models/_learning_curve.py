"""Quality against the number of pairs: would more pairs help, or more target rows?

The pairs are divided into folds: rows held out are queries among each other, the others are training rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from thpi._types import Array, Bools, Floats
from thpi.auto import AutoHasher, Candidate, Relevance, Spaces
from thpi.base import TooManyBitsError, Views
from thpi.evaluation import average_precision_among
from thpi.hashers import SourceFeatures
from thpi.report import new_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = (0.125, 0.25, 0.5, 1.0)
CLEAR = 0.5
"""A difference below half a point of MAP counts as none, however sure it is."""


@dataclass(frozen=True)
class LearningCurve:
    """MAP in percent, mean over folds, at increasing numbers of pairs; None if the data do not allow this many bits.

    With m pairs the source of the other rows is still known: the method gets it as unpaired source. ``no_source`` is a
    method without source on the same m target rows, so its end is that method on all target rows. It gets the same
    share of the ``more`` target rows without source; the method with source gets all of them.
    """

    pairs: tuple[int, ...]
    with_source: tuple[float | None, ...]
    no_source: tuple[float | None, ...]
    more: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the last doubling says."""
        found = []
        for values, beginning, more in (
            (self.with_source, f"With the source, training on {self.pairs[-1]:,} pairs", "more pairs"),
            (self.no_source, "Without it, training on as many target rows", "more target rows alone"),
        ):
            if values[-2] is not None and values[-1] is not None:
                points = values[-1] - values[-2]
                compared = f"{abs(points):.1f} points {'lower' if points < 0 else 'higher'}"
                likely = "are likely to help" if points > CLEAR else "are not likely to help much"
                found.append(f"{beginning} scores {compared} than on half: {more} {likely}.")
        return tuple(found)

    @property
    def worth(self) -> str | None:
        """How many pairs do as well as all target rows without source, if fewer do."""
        end = self.no_source[-1]
        enough = [m for m, value in zip(self.pairs, self.with_source, strict=True) if value and end and value >= end]
        if not enough or enough[0] == self.pairs[-1]:
            return None
        beside = f" beside the {self.more:,} rows without one" if self.more else ""
        every = self.pairs[-1] + self.more
        return f"With the source, {enough[0]:,} pairs{beside} are as good as {every:,} target rows without it."

    def draw(self) -> Figure:
        """Draw MAP against the number of pairs, with and without source; needs matplotlib."""
        axis = new_axes(7.5, 3.6)
        for values, colour, marker, label in (
            (self.with_source, "#0072B2", "o", "with source"),
            (self.no_source, "#000000", "x", "no source"),
        ):
            axis.plot(self.pairs, np.array(values, float), color=colour, marker=marker, label=label)
        if self.no_source[-1] is not None:
            label = f"no source, all {self.pairs[-1]:,} rows"
            axis.axhline(self.no_source[-1], color="#000000", linestyle=(0, (4, 2)), linewidth=1, label=label)
        axis.set_xscale("log", base=2)
        axis.set_xticks(self.pairs, [f"{m:,}" for m in self.pairs])
        axis.minorticks_off()
        axis.set(xlabel="pairs (with source) or target rows (without)", ylabel="MAP (%)")
        axis.legend(frameon=False, fontsize=8)
        return axis.figure  # type: ignore[return-value]  # not of a subfigure


class Fold(NamedTuple):
    """One division and its ground truth, which all methods share.

    For source nearness the source of the held-out rows decides what is relevant; no method sees it.
    """

    hasher: AutoHasher
    training: Views
    queries: Any
    relevant: Bools

    def precisions(self, rows: Views, candidate: Candidate) -> Floats | None:
        """Average precision in percent of each query, by a candidate learned from some rows as ``fit`` learns it.

        NaN if nothing is relevant to the query; None if the rows do not allow this many bits.
        """
        try:
            trial = self.hasher.trial(rows, check_random_state(self.hasher.random_state), scored=False)
            learned = copy(self.hasher).set_fitted(trial.views, trial.learn(candidate))
        except TooManyBitsError:
            return None
        return 100 * average_precision_among(learned.transform(self.queries), self.relevant, learned.n_bits)


def divide(hasher: AutoHasher, views: Views, relevance: Relevance, n_folds: int) -> Iterator[Fold]:
    """Return the folds; they are the same for every relevance."""
    seed = int(hasher.random_state)  # type: ignore[arg-type]  # set by diagnose
    n = views.X.shape[0]

    # The groups are those of the graph over all source rows.
    def groups() -> Array:
        return SourceFeatures(views, np.random.RandomState(seed), hasher.max_unpaired).diffusion[:n]

    relevant = relevance.of_pairs(Spaces(views.X, views.y, views.S, groups))
    for train, held in KFold(n_folds, shuffle=True, random_state=seed).split(np.arange(n)):
        yield Fold(hasher, views.take(train), views.X[held], relevant[np.ix_(held, held)])


def learning_curve(folds: Sequence[Fold], with_source: Candidate, no_source: Candidate, seed: int) -> LearningCurve:
    """Fit both candidates on growing parts of the training rows of every fold."""
    n, more = min(fold.training.X.shape[0] for fold in folds), folds[0].training.X_more
    counts = tuple(sorted({max(2, round(share * n)) for share in SHARES}))
    rng = np.random.RandomState(seed)
    orders = [rng.permutation(fold.training.X.shape[0])[:n] for fold in folds]
    n_more = 0 if more is None else more.shape[0]
    order_of_more = rng.permutation(n_more)
    curves: dict[Candidate, list[float | None]] = {with_source: [], no_source: []}
    for m in counts:
        for candidate, curve in curves.items():
            values = []
            for fold, order in zip(folds, orders, strict=True):
                few = fold.training.take(np.sort(order[:m])).with_source(fold.training.S[np.sort(order[m:])])
                if candidate is no_source and more is not None:
                    some = more[np.sort(order_of_more[: round(m / n * n_more)])]
                    few = Views(few.X, few.S, few.S_U, some, few.y)
                values.append(fold.precisions(few, candidate))
            known = [value for value in values if value is not None]
            curve.append(float(np.nanmean(np.concatenate(known))) if len(known) == len(values) else None)
    return LearningCurve(counts, tuple(curves[with_source]), tuple(curves[no_source]), n_more)
