"""Folds of the pairs, several divisions of them, and the scores of a candidate on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats
from sklearn.model_selection import KFold

from thpi._types import Array, Bools, Floats, Ints
from thpi.auto._relevance import Candidate
from thpi.codes import pack_signs
from thpi.evaluation import average_precision_among, ranked_average_precision
from thpi.hashers import (
    Geometry,
    Learned,
    Limits,
    SourceFeatures,
    Steps,
    learn,
)
from thpi.solvers.blocks import spread
from thpi.solvers.quantisation import to_signs

if TYPE_CHECKING:
    pass

FOLD_LIMITS = Limits(Steps(1e-4, 20), Steps(1e-4, 15), 300)  # selection needs the order, not the last digit
LEAST_STARTS = 2  # random starts of a fold, in all repetitions: where a search ends is luck, so it is averaged
MOST_MORE = 1000  # further target rows that a fold learns from


@dataclass(frozen=True)
class FoldScores:
    """Average precision of every pair as a query (repetitions x pairs), and the folds of the pairs (the same shape).

    NaN where nothing in its fold is relevant to the pair.
    """

    precisions: Floats
    fold_of: Ints

    @property
    def by_fold(self) -> Floats:
        """Mean of each fold of each repetition."""
        repeats = zip(self.precisions, self.fold_of, strict=True)
        return np.array([np.nanmean(row[fold_of == k]) for row, fold_of in repeats for k in np.unique(fold_of)])

    @property
    def mean(self) -> float:
        """Mean over queries and repetitions."""
        return float(np.nanmean(self.precisions))

    def gain_over(self, other: FoldScores) -> tuple[float, float]:
        """Mean gain over another candidate, in the repetitions that both have, and its standard error over queries."""
        gains = self._less(other).precisions
        queries = np.nanmean(gains[:, ~np.isnan(gains).all(axis=0)], axis=0)
        error = queries.std(ddof=1) / np.sqrt(len(queries)) if len(queries) > 1 else np.inf
        return float(np.nanmean(gains)), float(error)

    def gain_on_new_rows(self, other: FoldScores) -> tuple[float, float]:
        """Mean gain over another candidate, and its standard error if both were learned from other rows, too.

        The error is that of queries or that of fits, whichever is larger. Folds learn from rows that others hold out,
        so their means vary less than those of independent fits: with J folds, each 1/K of the pairs, the variance is
        that of a fold times ``1/J + 1/(K - 1)`` (Nadeau and Bengio 2003).
        """
        gain, error = self.gain_over(other)
        folds = self._less(other).by_fold
        n_folds = len(np.unique(self.fold_of[0]))
        return gain, float(max(error, folds.std(ddof=1) * np.sqrt(1 / len(folds) + 1 / (n_folds - 1))))

    def gain_with_interval(self, other: FoldScores) -> tuple[float, float, float]:
        """The same gain with its 95 % interval."""
        gain, error = self.gain_on_new_rows(other)
        reach = float(stats.norm.ppf(0.975)) * error
        return gain, gain - reach, gain + reach

    def and_further(self, repeats: FoldScores) -> FoldScores:
        """The same with further repetitions."""
        precisions = np.vstack([self.precisions, repeats.precisions])
        return FoldScores(precisions, np.vstack([self.fold_of, repeats.fold_of]))

    def _less(self, other: FoldScores) -> FoldScores:
        shared = min(len(self.precisions), len(other.precisions))
        return FoldScores(self.precisions[:shared] - other.precisions[:shared], self.fold_of[:shared])


class Division(NamedTuple):
    """How the pairs are divided: those that are ``kept`` into folds, anew in every repetition."""

    kept: Ints
    n_folds: int
    most_learned: int
    n_repeats: int
    seed: int


@dataclass(eq=False)
class Folds:
    """Folds of the pairs with their ground truth and geometries, which all candidates share.

    ``X`` are the target rows of the pairs that are kept, and ``more`` target rows without a source, the same in every
    fold. Held-out rows are queries among the other rows of their fold: a search meets codes of new rows, not of rows
    that were learned from. Learning never sees target rows or labels of the held-out rows. Their source rows take part
    in the principal components of the source, which need no target. Every repetition has another division and another
    random start. ``widths`` are the kernels among which a fold chooses. ``found_by_search`` is what is relevant in a
    search among all source rows.
    """

    X: Array
    more: Array
    relevant: Bools
    found_by_search: Bools
    division: Division
    n_bits: int
    widths: tuple[float | None, ...]
    source: SourceFeatures | None
    labels: Array | None

    def __post_init__(self) -> None:
        self.more = self.more[spread(len(self.more), MOST_MORE)]
        self.fold_of = np.empty((self.division.n_repeats, len(self.X)), dtype=np.int64)
        for repeat, fold_of in enumerate(self.fold_of):
            kfold = KFold(self.division.n_folds, shuffle=True, random_state=self.division.seed + repeat)
            for fold, (_, held) in enumerate(kfold.split(self.X)):
                fold_of[held] = fold
        self._geometries: dict[tuple[int, int], Geometry] = {}

    @property
    def can_score(self) -> bool:
        """Whether every fold has a query; with few pairs of many classes some may have none."""
        folds = range(self.division.n_folds)
        return all(self.relevant[np.ix_(row == k, row == k)].any() for row in self.fold_of for k in folds)

    def score(self, candidate: Candidate, repeats: Sequence[int]) -> FoldScores:
        """Average precisions of a candidate in some repetitions, by Hamming distance."""

        def precisions(held: Ints, learned: Learned, mean: Array) -> Floats:
            codes = pack_signs(learned.project(self.X[held], mean))
            return average_precision_among(codes, self.relevant[np.ix_(held, held)], self.n_bits)

        return self._scored(candidate, repeats, precisions)

    def score_sides(self, candidate: Candidate, repeats: Sequence[int]) -> FoldScores:
        """Average precisions by the asymmetric distance, in which queries are projections and items are codes.

        The items of a two-sided candidate are coded by their source rows, those of others by their target rows. What
        is relevant is that of a search: coarse neighbours alone would speak for two sides, because near-duplicates
        agree in whatever the target does not predict, and only one-sided codes profit from that.
        """

        def precisions(held: Ints, learned: Learned, mean: Array) -> Floats:
            queries = items = learned.project(self.X[held], mean)
            if learned.source_projection is not None:
                assert self.source is not None
                items = self.source.coordinates.values[held] @ learned.source_projection
            distances = -queries @ to_signs(items.copy()).T
            np.fill_diagonal(distances, distances.max() + 1)  # the row itself is no answer: it comes last
            relevant = self.found_by_search[np.ix_(held, held)]
            return np.where(relevant.any(axis=1), ranked_average_precision(distances, relevant), np.nan)

        return self._scored(candidate, repeats, precisions)

    def _scored(
        self, candidate: Candidate, repeats: Sequence[int], precisions: Callable[[Ints, Learned, Array], Floats]
    ) -> FoldScores:
        found = np.full((len(repeats), len(self.X)), np.nan)
        n_starts = -(-LEAST_STARTS // self.division.n_repeats)
        for row, repeat in zip(found, repeats, strict=True):
            for fold in range(self.division.n_folds):
                held = np.flatnonzero(self.fold_of[repeat] == fold)
                geometry = self._geometry(repeat, fold)
                shown = geometry if candidate.uses_source else geometry.without_source
                by_start = []
                for start in range(repeat * n_starts, (repeat + 1) * n_starts):
                    learned = learn(candidate.make(self.n_bits), shown, start=start, limits=FOLD_LIMITS)
                    by_start.append(precisions(held, learned, geometry.mean))
                row[held] = 100 * np.mean(by_start, axis=0)
        return FoldScores(found, self.fold_of[list(repeats)])

    def score_start(self, learned: Learned, rows: Array) -> float:
        """Mean average precision of the pairs among themselves, by a projection of all their rows."""
        codes = pack_signs(learned.project(rows[self.division.kept], np.zeros(rows.shape[1])))
        return float(np.nanmean(average_precision_among(codes, self.relevant, self.n_bits)))

    def _geometry(self, repeat: int, fold: int) -> Geometry:
        if (repeat, fold) not in self._geometries:
            most, seed = self.division.most_learned, self.division.seed
            train = np.flatnonzero(self.fold_of[repeat] != fold)
            if len(train) > most:
                rng = np.random.RandomState(seed + fold)
                train = np.sort(rng.choice(train, most, replace=False))
            known = None if self.labels is None else self.labels[train]
            self._geometries[repeat, fold] = Geometry(
                self.X[train], self.n_bits, seed, self.source, rows=train, widths=self.widths, more=self.more,
                labels=known,
            )  # fmt: skip
        return self._geometries[repeat, fold]
