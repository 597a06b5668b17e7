"""Cross-validation of candidates on the training pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from thpi._types import Array, Bools, Codes, Floats, Ints
from thpi.auto._relevance import Candidate
from thpi.codes import pack_signs
from thpi.hashers._geometry import Geometry, Limits, Steps
from thpi.hashers._geometry_hasher import learn
from thpi.hashers._source_features import SourceFeatures
from thpi.metrics._average_precision import _expected
from thpi.metrics._histograms import distance_histograms
from thpi.metrics._measure import harmonic
from thpi.solvers.blocks import spread

# Selection needs the order of the candidates, not their last digit.
FOLD_LIMITS = Limits(Steps(1e-4, 20), Steps(1e-4, 15), 500)
MOST_MORE = 1000
"""Further target rows that a fold learns from."""


@dataclass(frozen=True)
class FoldScores:
    """Average precision of every query (starts x queries), and the folds of the queries."""

    precisions: Floats
    fold_of: Ints

    @property
    def by_fold(self) -> Floats:
        """Mean of each fold from each start."""
        return np.hstack([self.precisions[:, self.fold_of == fold].mean(axis=1) for fold in np.unique(self.fold_of)])

    @property
    def mean(self) -> float:
        """Mean over queries and starts."""
        return float(self.precisions.mean())

    def part_like(self, other: FoldScores) -> FoldScores:
        """The scores on those folds and starts that ``other`` has."""
        rows = np.isin(self.fold_of, other.fold_of)
        return FoldScores(self.precisions[: len(other.precisions), rows], self.fold_of[rows])

    def gain_over(self, other: FoldScores) -> tuple[float, float]:
        """Mean gain over another candidate and its standard error.

        The error has two sources, queries and fits. Both are estimated, from paired differences of queries and of
        fold means, and the larger is taken.
        """
        difference = (self.precisions - other.precisions).mean(axis=0)
        fits = self.by_fold - other.by_fold
        errors = [values.std(ddof=1) / np.sqrt(len(values)) for values in (difference, fits) if len(values) > 1]
        return float(difference.mean()), float(max(errors, default=np.inf))


class Division(NamedTuple):
    """How the pairs are divided: those that are ``kept`` into folds, each learned ``n_starts`` times."""

    kept: Ints
    n_folds: int
    most_learned: int
    n_starts: int
    seed: int


class Folds:
    """Folds of the pairs with their ground truth and geometries, which all candidates share.

    ``X`` are the target rows of the pairs that are kept, and ``more`` target rows without a source, the same in every
    fold. Held-out rows are queries among the other rows of their fold: a search meets codes of new rows, not of rows
    that were learned from. Learning never sees target rows or labels of the held-out rows. Their source rows take part
    in the principal components of the source, which need no target. ``widths`` are the kernels among which a fold
    chooses.
    """

    def __init__(
        self,
        X: Array,
        more: Array,
        relevant: Bools,
        division: Division,
        *,
        n_bits: int,
        widths: tuple[float | None, ...],
        source: SourceFeatures | None,
        labels: Array | None,
    ) -> None:
        self.X, self.relevant, self.division, self.n_bits = X, relevant, division, n_bits
        self.source, self.labels = source, labels
        more = more[spread(len(more), MOST_MORE)]
        self.fold_of = np.empty(len(X), dtype=np.int64)
        self.geometries: list[tuple[Geometry, Ints]] = []
        seed = division.seed
        for fold, (train, held) in enumerate(KFold(division.n_folds, shuffle=True, random_state=seed).split(X)):
            self.fold_of[held] = fold
            if len(train) > division.most_learned:
                rng = np.random.RandomState(seed + fold)
                train = np.sort(rng.choice(train, division.most_learned, replace=False))
            known = None if labels is None else labels[train]
            geometry = Geometry(X[train], n_bits, seed, source, rows=train, widths=widths, more=more, labels=known)
            self.geometries.append((geometry, held))

    def in_other_coordinates(self, X: Array, more: Array, widths: tuple[float | None, ...]) -> Folds:
        """The same folds of the same pairs, their target rows in other coordinates."""
        return Folds(
            X, more, self.relevant, self.division, n_bits=self.n_bits, widths=widths, source=self.source,
            labels=self.labels,
        )  # fmt: skip

    @cached_property
    def queries(self) -> Bools:
        """Which rows are queries: those to which another row of their fold is relevant."""
        same_fold = self.fold_of[:, None] == self.fold_of
        return np.asarray((self.relevant & same_fold).any(axis=1))

    @property
    def can_score(self) -> bool:
        """Whether every fold has a query; with few pairs of many classes some may have none."""
        return len(np.unique(self.fold_of[self.queries])) == len(self.geometries)

    def score(self, candidate: Candidate, n_folds: int | None = None) -> FoldScores:
        """Average precisions of a candidate, on all folds and starts, or from one start on the first ``n_folds``."""
        geometries = self.geometries[:n_folds]
        starts = self.division.n_starts if n_folds is None else 1
        queries = self.queries & (self.fold_of < len(geometries))
        precisions = np.empty((starts, len(self.X)))
        for geometry, held in geometries:
            shown = geometry if candidate.uses_source else geometry.without_source
            for start in range(starts):
                learned = learn(candidate.make(self.n_bits), shown, start=start, limits=FOLD_LIMITS)
                mean = geometry.mean if learned.mean is None else learned.mean
                codes = pack_signs((self.X[held] - mean) @ learned.projection)
                found = _precisions(codes, self.relevant[np.ix_(held, held)], self.n_bits)
                precisions[start, held] = found
        return FoldScores(100 * precisions[:, queries], self.fold_of[queries])

    def score_start(self, projection: Array, rows: Array) -> float:
        """Mean average precision of the pairs among themselves, by a projection of all their rows."""
        codes = pack_signs(rows[self.division.kept] @ projection)
        return float(_precisions(codes, self.relevant, self.n_bits).mean())


def _precisions(codes: Codes, relevant: Bools, n_bits: int) -> Floats:
    """Average precision, expected under ties, of each row among all others."""
    histograms = distance_histograms(codes, codes, relevant, n_bits)
    t, r = histograms.hist_all.copy(), histograms.hist_relevant
    t[:, 0] -= 1  # the row itself is no answer
    a, R = t.cumsum(axis=1) - t, r.cumsum(axis=1) - r
    total = r.sum(axis=1)
    sums = _expected(t, r, a, R, harmonic(len(codes))).sum(axis=1)
    return np.asarray(sums / np.maximum(total, 1))
