"""A trial of all candidates on some rows: their scores on folds, and any one of them learned from all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thpi._types import Fitted
from thpi.auto._folds import Division, Folds, FoldScores
from thpi.auto._relevance import Candidate, Relevance, Spaces
from thpi.base import TooManyBitsError, Views
from thpi.hashers import (
    ITQ,
    Geometry,
    GeometryLearner,
    KernelGeometry,
    KernelKind,
    Learned,
    Limits,
    Steps,
    ViewGeometry,
    class_indicators,
    learn,
    predicted_source,
)
from thpi.kernels.threads import one_blas_thread
from thpi.pairing import UNRELATED_LABELS
from thpi.solvers.blocks import spread
from thpi.solvers.loo_ridge import dependence_p_value, least_r2, loo_ridge

if TYPE_CHECKING:
    from thpi.auto._auto import AutoHasher

LEAST_PAIRS = 12
FINAL_LIMITS = Limits(Steps(1e-5, 60))
FINAL_STARTS = 8
MOST_REPEATS = 5
FITS = 600  # repetitions of the folds are this number over that of the pairs: the scores of few pairs are noisier
MOST_HELD = 500  # held-out rows per fold: more of them cost no fit and make the score less noisy
MOST_R2_PAIRS = 2000
MOST_LABELS = 500
CLOSE = 2.0  # standard errors below the best within which a candidate is scored in further repetitions


class Space(NamedTuple):
    """Coordinates of the pairs, their folds (None if there are too few pairs), and the way back to a hash function."""

    geometry: Geometry
    folds: Folds | None
    fitted: Callable[[Learned], Fitted]


class Plan(NamedTuple):
    """What is tried on some rows, and the hasher whose parameters say how much may be spent on it."""

    settings: AutoHasher
    relevance: Relevance
    candidates: tuple[Candidate, ...]
    kernel: KernelKind | None
    use_lengths: bool
    two_sided: tuple[Candidate, ...]


class Trial:
    """Geometry and folds of some rows, in which every candidate can be scored and learned.

    ``fit``, its cross-validation and ``diagnose`` all go through here: for the same rows and random stream they learn
    the same. ``scored=False`` leaves out the folds.
    """

    def __init__(self, views: Views, plan: Plan, rng: np.random.RandomState, *, scored: bool = True) -> None:
        if not plan.relevance.needs_labels:
            views = replace(views, y=None)
        self.views, self.plan = views, plan
        # The same starts and samples for every random state: which rotation ITQ starts from is luck, worth a point of
        # MAP, and the best of a fixed few is as good as the best of a random few.
        self._whole = ViewGeometry(views, plan.settings.n_bits, rng, plan.settings.max_unpaired, seed=0)
        geometry = self._whole.geometry
        folds = self._folds(geometry, rng) if scored and len(plan.candidates) > 1 else None
        self.linear = Space(geometry, folds, self._whole.fitted)
        self._state = rng.get_state()

    @cached_property
    def kernel(self) -> Space:
        """Kernel features of the rows."""
        assert self.plan.kernel is not None
        with one_blas_thread():
            found = KernelGeometry(self.views, self.linear.geometry, self.plan.kernel, self._stream())
            folds, widths = self.linear.folds, _widths(found.geometry)
            if folds is not None:
                n, kept = self.views.X.shape[0], folds.division.kept
                folds = replace(folds, X=found.values[kept], more=found.values[n:], widths=widths)
            return Space(found.geometry, folds, found.fitted)

    def space(self, candidate: Candidate) -> Space:
        """The space in which a candidate is learned."""
        return self.kernel if candidate.kernel else self.linear

    def _stream(self) -> np.random.RandomState:
        rng = np.random.RandomState()
        rng.set_state(self._state)
        return rng

    @cached_property
    def scores(self) -> dict[Candidate, FoldScores] | None:
        """Scores on the folds; None if the pairs are too few to compare candidates.

        Candidates that are clearly behind have scores of the first repetition only. Those that cannot give this many
        bits have none.
        """
        folds = self.linear.folds
        if folds is None:
            return None
        with one_blas_thread():  # folds are small: with several threads their products take longer
            first = self._score(self.plan.candidates, [0])
            repeats = range(1, folds.division.n_repeats)
            more = self._score(self._close(first), repeats) if repeats else {}
        return {c: score.and_further(more[c]) if c in more else score for c, score in first.items()}

    def sides_scores(self, chosen: Candidate) -> dict[Candidate, FoldScores] | None:
        """Scores by the asymmetric distance, of what was chosen and of the two-sided candidates."""
        folds = self.linear.folds
        if folds is None:
            return None
        with one_blas_thread():
            return self._score([chosen, *self.plan.two_sided], range(folds.division.n_repeats), Folds.score_sides)

    def best_two_sided(self, scores: dict[Candidate, FoldScores] | None) -> Candidate:
        """The best two-sided candidate: on the folds or, if these learn from a part of the pairs, by leave-one-out.

        Landmarks may be enough for some hundred pairs and too few for thousands. Without scores it is the first.
        """
        if scores is None:
            return self.plan.two_sided[0]
        if len(self.linear.geometry.X) <= self.plan.settings.max_pairs:
            return max(self.plan.two_sided, key=lambda candidate: scores[candidate].mean)
        with one_blas_thread():
            return max(
                self.plan.two_sided,
                key=lambda candidate: self.space(candidate).geometry.once(predicted_source).explained,
            )

    def _score(
        self,
        candidates: Sequence[Candidate],
        repeats: Sequence[int],
        scored: Callable[[Folds, Candidate, Sequence[int]], FoldScores] = Folds.score,
    ) -> dict[Candidate, FoldScores]:
        def score(candidate: Candidate) -> FoldScores | None:
            folds = self.space(candidate).folds
            assert folds is not None
            try:
                return scored(folds, candidate, repeats)
            except TooManyBitsError:
                return None

        n_jobs = self.plan.settings.n_jobs
        if n_jobs in (None, 1):
            found = [score(candidate) for candidate in candidates]
        else:
            from joblib import Parallel, delayed

            found = Parallel(n_jobs, prefer="threads")(delayed(score)(candidate) for candidate in candidates)
        return {c: scores for c, scores in zip(candidates, found, strict=True) if scores is not None}

    def _close(self, scores: dict[Candidate, FoldScores]) -> list[Candidate]:
        """Candidates that are not clearly behind the best of their kind, with or without source."""
        close = []
        for uses_source in (False, True):
            rivals = [candidate for candidate in scores if candidate.uses_source == uses_source]
            best = max(rivals, key=lambda candidate: scores[candidate].mean, default=None)
            for rival in rivals:
                lead, error = scores[best or rival].gain_over(scores[rival])
                if lead <= CLOSE * error or rival is self.plan.relevance.default:
                    close.append(rival)
        return [candidate for candidate in scores if candidate in close]

    def best(self, *, uses_source: bool) -> Candidate:
        """The best candidate with or without the source; the first if there are no scores."""
        eligible = [candidate for candidate in self.plan.candidates if candidate.uses_source == uses_source]
        if self.scores is None:
            return eligible[0]
        scores = self.scores
        most = max(len(score.precisions) for score in scores.values())
        whole = [c for c in eligible if c in scores and len(scores[c].precisions) == most]
        return max(whole, key=lambda candidate: scores[candidate].mean)

    @cached_property
    def r2(self) -> float:
        """Share of one view of the pairs that the other explains; 0 if there is no source."""
        if self._whole.geometry.source is None:
            return 0.0
        spaces = [self.linear] if self.plan.kernel is None else [self.linear, self.kernel]
        with one_blas_thread():
            return max(pairs_r2(space.geometry) for space in spaces)

    @cached_property
    def labels_p(self) -> float:
        """Probability of labels that agree as well with the target, if they had nothing to do with it; 0 without."""
        geometry = self.linear.geometry
        if geometry.labels is None:
            return 0.0
        some = spread(len(geometry.X), MOST_LABELS)
        Y = class_indicators(geometry.labels[some], equal_classes=False)
        return dependence_p_value(geometry.X[some], Y, np.random.RandomState(geometry.seed))

    @property
    def labels_related(self) -> bool:
        """Whether the target can tell the labels at all, or there are none."""
        return self.labels_p <= UNRELATED_LABELS

    @property
    def related(self) -> bool:
        """Whether the two views of the pairs have anything to do with each other."""
        return self.r2 > least_r2(self.views.X.shape[0])

    @property
    def trusted(self) -> bool:
        """Whether what decides about relevance, the source or the labels, has anything to do with the target."""
        return (self.related or not self.plan.relevance.needs_source) and self.labels_related

    def learn(self, candidate: Candidate) -> Fitted:
        """Learn a candidate from all rows; the fitted attributes of a hasher."""
        if candidate.method is ITQ and not candidate.kernel and not candidate.params and self._whole.itq is not None:
            return self._whole.itq
        geometry, folds, fitted = self.space(candidate)
        if not candidate.uses_source:
            geometry = geometry.without_source
        start, hasher, relevance = 0, candidate.make(self.plan.settings.n_bits), self.plan.relevance
        # The best of several starts is known only if it is known what is relevant.
        if folds is not None and self.trusted and isinstance(hasher, GeometryLearner):
            # Number 0 is that of ITQ, which hangs on the random state.
            numbers = range(1, FINAL_STARTS + 1)
            found = [hasher.learn_start(geometry, number, FINAL_LIMITS) for number in numbers]
            by_rows = relevance.needs_source or relevance.needs_labels
            if by_rows and candidate not in self.plan.two_sided:
                # The loss of ITQ says little about which local optimum retrieves best. The training rows say more.
                merits = [folds.score_start(learned, geometry.X) for learned in found]
            else:  # for neighbours in the target, and for two sides, it says more than rows that were learned from
                merits = [-learned.objective[-1] for learned in found]
            start = numbers[first_of_best(merits)]
        return fitted(learn(hasher, geometry, start=start, limits=FINAL_LIMITS))

    def _folds(self, geometry: Geometry, rng: np.random.RandomState) -> Folds | None:
        """Return the folds; None if there are too few pairs, or if nothing is relevant to anything in some fold."""
        plan, settings, source = self.plan, self.plan.settings, geometry.source
        n = len(geometry.X)
        seed = int(rng.randint(np.iinfo(np.int32).max // 2))
        if n < max(LEAST_PAIRS, 2 * settings.n_folds):
            return None
        kept, most = np.arange(n), max(settings.max_pairs, settings.n_folds * MOST_HELD)
        if n > most:
            kept = np.sort(rng.choice(n, most, replace=False))
            source = None if source is None else source.taken(kept)
        labels = None if geometry.labels is None else geometry.labels[kept]
        spaces = Spaces(geometry.X[kept], labels)
        if source is not None:
            spaces = Spaces(geometry.X[kept], labels, source.linear[: source.n], lambda: source.diffusion[: source.n])
        relevant = plan.relevance.of_pairs(spaces)
        sought = relevant if source is None else plan.relevance.of_search(spaces, len(source.linear))
        most_learned = settings.max_pairs - settings.max_pairs // settings.n_folds
        n_repeats = settings.n_repeats or min(MOST_REPEATS, max(1, FITS // len(kept)))
        division = Division(kept, settings.n_folds, most_learned, n_repeats, seed)
        rows, widths = (geometry.X[kept], geometry.real[n:]), _widths(geometry)
        folds = Folds(*rows, relevant, sought, division, settings.n_bits, widths, source, labels)
        return folds if folds.can_score else None


def first_of_best(merits: Sequence[float]) -> int:
    """Number of the first merit that is the highest but for rounding: two starts may end at the same codes."""
    best = max(merits)
    return next(number for number, merit in enumerate(merits) if merit >= best - 1e-9 * abs(best))


def _widths(geometry: Geometry) -> tuple[float | None, ...]:
    """One kernel for all folds, chosen on all pairs: choosing it in each would cost as much as all the rest."""
    return () if geometry.source is None else (geometry.imputation.width,)


def pairs_r2(geometry: Geometry) -> float:
    """Share of one view that the other explains, by leave-one-out, the larger of both directions.

    To the source by ridge on its principal components, to the target by the kernel that imputes best.
    """
    some = spread(len(geometry.X), MOST_R2_PAIRS)
    X, S = geometry.X[some], geometry.known_source.linear[geometry.rows[some]]
    forward = loo_ridge(X - X.mean(axis=0), S - S.mean(axis=0)).explained
    return float(max(forward, geometry.imputation.of_target.explained))
