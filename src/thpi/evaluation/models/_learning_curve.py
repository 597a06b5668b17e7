"""Quality against the number of pairs: would more pairs help, or more target rows?

The pairs are divided into folds: rows held out are queries among each other, the others are training rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from thpi._types import Array, Bools, Floats
from thpi.auto import AutoHasher, Candidate, Relevance, Spaces, Trial
from thpi.base import TooManyBitsError, Views
from thpi.evaluation import average_precision_among
from thpi.hashers import SourceFeatures

SHARES = (0.125, 0.25, 0.5, 1.0)
CLEAR = 0.5
"""Changes below this many points of MAP are not mentioned as gains."""


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
        pairs = _last_doubling(self.with_source)
        rows = _last_doubling(self.no_source)
        found = []
        if pairs is not None:
            found.append(
                f"With the source, training on {self.pairs[-1]:,} pairs scores {_compared(pairs)} than on half: "
                + ("more pairs are likely to help." if pairs > CLEAR else "more pairs are not likely to help much.")
            )
        if rows is not None:
            found.append(
                f"Without it, training on as many target rows scores {_compared(rows)} than on half: more target rows "
                + ("alone are likely to help." if rows > CLEAR else "alone are not likely to help much.")
            )
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


def _compared(points: float) -> str:
    return f"{abs(points):.1f} points {'lower' if points < 0 else 'higher'}"


def _last_doubling(values: Sequence[float | None]) -> float | None:
    before, after = values[-2], values[-1]
    return None if before is None or after is None else after - before


class Fold:
    """One division and its ground truth, which all methods share.

    For source nearness the source of the held-out rows decides what is relevant; no method sees it.
    """

    def __init__(self, hasher: AutoHasher, training: Views, queries: Any, relevant: Bools) -> None:
        self.hasher, self.training, self.queries, self.relevant = hasher, training, queries, relevant

    def trial(self, views: Views) -> Trial:
        """A trial of candidates on some rows, as ``fit`` makes it, without its folds."""
        return self.hasher.trial(views, check_random_state(self.hasher.random_state), scored=False)

    def precisions(self, trial: Trial, candidate: Candidate) -> Floats:
        """Average precision in percent of each query, by a candidate learned from the rows of the trial.

        NaN if nothing is relevant to the query.
        """
        learned = copy(self.hasher).set_fitted(trial.views, trial.learn(candidate))
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
    n = min(fold.training.X.shape[0] for fold in folds)
    counts = tuple(sorted({max(2, round(share * n)) for share in SHARES}))
    rng = np.random.RandomState(seed)
    orders = [rng.permutation(fold.training.X.shape[0])[:n] for fold in folds]
    more = folds[0].training.X_more
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
                values.append(_precisions(fold, few, candidate))
            known = [value for value in values if value is not None]
            curve.append(float(np.nanmean(np.concatenate(known))) if len(known) == len(values) else None)
    return LearningCurve(counts, tuple(curves[with_source]), tuple(curves[no_source]), n_more)


def _precisions(fold: Fold, rows: Views, candidate: Candidate) -> Floats | None:
    try:
        return fold.precisions(fold.trial(rows), candidate)
    except TooManyBitsError:
        return None
