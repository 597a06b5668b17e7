"""A trial of all candidates on some rows: their scores on the folds, and any one of them learned from all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thpi._input import some_rows
from thpi._types import Array, Fitted
from thpi.auto._folds import Division, Folds, FoldScores
from thpi.auto._relevance import Candidate, Relevance, Spaces
from thpi.base import TooManyBitsError, Views
from thpi.hashers._geometry import Geometry, Limits, Steps
from thpi.hashers._geometry_hasher import GeometryLearner, ViewGeometry, learn
from thpi.kernels._threads import one_blas_thread
from thpi.pairing._relation import least_r2
from thpi.solvers.blocks import spread
from thpi.solvers.loo_ridge import loo_ridge
from thpi.solvers.moments import EXACT_LIMIT

LEAST_PAIRS = 12
FINAL_LIMITS = Limits(Steps(1e-5, 60))
MOST_FINAL_STARTS = 8
MOST_STARTS = 5
FITS = 900
"""Random starts per fold are this number over that of the pairs: the scores of few pairs are noisier."""
MOST_HELD = 500
"""Held-out rows per fold: more of them cost no fit and make the score less noisy."""
MOST_R2_PAIRS = 2000


class Plan(NamedTuple):
    """What is tried, and how much may be spent on it; see the parameters of :class:`thpi.AutoHasher`."""

    n_bits: int
    relevance: Relevance
    candidates: tuple[Candidate, ...]
    n_folds: int = 3
    max_pairs: int = 500
    max_unpaired: int = 3000
    n_starts: int | None = None
    n_jobs: int | None = None


class Space(NamedTuple):
    """Coordinates of the pairs, their folds (None if there are too few pairs), and the way back to a hash function."""

    geometry: Geometry
    folds: Folds | None
    fitted: Callable[[Array], Fitted]


class Trial:
    """Geometry and folds of some rows, in which every candidate can be scored and learned.

    ``fit``, its cross-validation and ``diagnose`` all go through here: for the same rows and random stream they learn
    the same. ``kernel_space`` makes the kernel features (see :class:`thpi.KernelAutoHasher`); ``scored=False`` leaves
    out the folds.
    """

    def __init__(
        self,
        views: Views,
        plan: Plan,
        rng: np.random.RandomState,
        kernel_space: Callable[[Views, Space, np.random.RandomState], Space] | None = None,
        *,
        scored: bool = True,
    ) -> None:
        if not plan.relevance.needs_labels:
            views = views.without_labels()
        self.views, self.plan = views, plan
        self._whole = ViewGeometry(views, plan.n_bits, rng, plan.max_unpaired)
        geometry = self._whole.geometry
        folds = self._folds(geometry, rng) if scored and len(plan.candidates) > 1 else None
        self.spaces = {False: Space(geometry, folds, lambda projection: {"projection_": self._whole.back(projection)})}
        if kernel_space is not None and folds is not None:
            with one_blas_thread():
                self.spaces[True] = kernel_space(views, self.spaces[False], rng)
        self._state = rng.get_state()

    @cached_property
    def scores(self) -> dict[Candidate, FoldScores] | None:
        """Scores on the folds; None if the pairs are too few to compare candidates.

        A costly candidate that does not lead on the first fold has scores of that fold only. One that was not tried, or
        cannot give this many bits, has none.
        """
        if self.spaces[False].folds is None:
            return None
        with one_blas_thread():  # folds are small: with several threads their products take longer
            return dict(self._scored())

    def best(self, *, uses_source: bool) -> Candidate:
        """The best candidate with or without the source; the first if there are no scores."""
        eligible = [candidate for candidate in self.plan.candidates if candidate.uses_source == uses_source]
        if self.scores is None:
            return eligible[0]
        scores = self.scores
        size = max(score.precisions.size for score in scores.values())
        whole = [c for c in eligible if c in scores and scores[c].precisions.size == size]
        return max(whole, key=lambda candidate: scores[candidate].mean)

    @cached_property
    def r2(self) -> float:
        """Share of one view of the pairs that the other explains; 0 if there is no source."""
        if self._whole.geometry.source is None:
            return 0.0
        with one_blas_thread():
            return max(pairs_r2(space.geometry) for space in self.spaces.values())

    @property
    def related(self) -> bool:
        """Whether the two views of the pairs have anything to do with each other."""
        return self.r2 > least_r2(self.views.X.shape[0])

    def learn(self, candidate: Candidate) -> Fitted:
        """Learn a candidate from all rows; the fitted attributes of a hasher."""
        if not candidate.starts_at_itq:
            return self._fit_on_rows(candidate)
        if candidate.is_plain_itq and self._whole.itq is not None:
            return self._whole.itq
        geometry, folds, fitted = self.spaces[candidate.kernel]
        if not candidate.uses_source:
            geometry = geometry.without_source
        start, hasher = 0, candidate.make(self.plan.n_bits)
        relevance = self.plan.relevance
        # The best of several starts is known only if it is known what is relevant.
        if folds is not None and relevance.several_starts and (relevance.needs_labels or self.related):
            assert isinstance(hasher, GeometryLearner)
            tried = range(min(MOST_FINAL_STARTS, 2 * folds.division.n_starts + 1))
            found = [hasher.learn_start(geometry, number, FINAL_LIMITS).projection for number in tried]
            # The loss of ITQ says little about which local optimum retrieves best. The training rows say more.
            start = int(np.argmax([folds.score_start(projection, geometry.X) for projection in found]))
        return fitted(learn(hasher, geometry, start=start, limits=FINAL_LIMITS).projection)

    def _fit_on_rows(self, candidate: Candidate) -> Fitted:
        """Fit a method that does not learn in coordinates on the rows themselves."""
        views, hasher = self.views, candidate.make(self.plan.n_bits)
        if candidate.uses_source:
            views = Views(views.X, views.S, views.S_U, y=views.y)
        elif not (hasher.uses_labels and views.y is not None):
            rows = views.X if views.X_more is None else some_rows(views.all_target, EXACT_LIMIT)
            views = Views(rows, rows if hasher.needs_privileged else None)
        else:
            views = Views(views.X, y=views.y)
        hasher._check_bits(views)
        rng = np.random.RandomState()
        rng.set_state(self._state)
        found = hasher._fit(views, rng)
        kept = {name: found[name] for name in ("projection_", "objective_", "converged_") if name in found}
        return kept | {"mean_": views.mean}

    def _folds(self, geometry: Geometry, rng: np.random.RandomState) -> Folds | None:
        """Return the folds; None if there are too few pairs, or if nothing is relevant to anything in some fold."""
        plan, source = self.plan, geometry.source
        n = len(geometry.X)
        seed = int(rng.randint(np.iinfo(np.int32).max // 2))
        if n < max(LEAST_PAIRS, 2 * plan.n_folds):
            return None
        kept, most = np.arange(n), max(plan.max_pairs, plan.n_folds * MOST_HELD)
        if n > most:
            kept = np.sort(rng.choice(n, most, replace=False))
            source = None if source is None else source.taken(kept)
        labels = None if geometry.labels is None else geometry.labels[kept]
        spaces = Spaces(geometry.X[kept], labels)
        if source is not None:
            spaces = Spaces(geometry.X[kept], labels, source.linear[: source.n], lambda: source.diffusion[: source.n])
        relevant = plan.relevance.of_pairs(spaces)
        division = Division(
            kept,
            plan.n_folds,
            plan.max_pairs - plan.max_pairs // plan.n_folds,
            plan.n_starts or min(MOST_STARTS, max(1, FITS // len(kept))),
            seed,
        )
        # One kernel for all folds, chosen on all pairs: choosing it in each would cost as much as all the rest.
        widths = () if source is None else (geometry.imputation.width,)
        folds = Folds(
            geometry.X[kept], geometry.real[n:], relevant, division, n_bits=plan.n_bits, widths=widths, source=source,
            labels=labels,
        )  # fmt: skip
        return folds if folds.can_score else None

    def _scored(self) -> Iterator[tuple[Candidate, FoldScores]]:
        quick = [candidate for candidate in self.plan.candidates if candidate.starts_at_itq]

        def score(candidate: Candidate) -> FoldScores:
            folds = self.spaces[candidate.kernel].folds
            assert folds is not None
            return folds.score(candidate)

        if self.plan.n_jobs in (None, 1):
            scores: Sequence[FoldScores] = [score(candidate) for candidate in quick]
        else:
            from joblib import Parallel, delayed

            scores = Parallel(self.plan.n_jobs, prefer="threads")(delayed(score)(candidate) for candidate in quick)
        yield from zip(quick, scores, strict=True)
        folds = self.spaces[False].folds
        assert folds is not None
        costly = [candidate for candidate in self.plan.candidates if not candidate.starts_at_itq]
        yield from _races(folds, costly, max(scores, key=lambda score: score.mean))


def _races(folds: Folds, costly: list[Candidate], best: FoldScores) -> Iterator[tuple[Candidate, FoldScores]]:
    """Score costly candidates on the first fold, and on the others if they lead there.

    If one falls behind, later candidates of its method, with more weight on the same terms, are not tried.
    """
    behind: set[type] = set()
    for candidate in costly:
        if candidate.method in behind:
            continue
        try:
            first = folds.score(candidate, n_folds=1)
        except TooManyBitsError:
            continue
        gain, error = first.gain_over(best.part_like(first))
        if gain < -error and candidate.uses_source:
            behind.add(candidate.method)
        yield candidate, folds.score(candidate) if gain > error else first


def pairs_r2(geometry: Geometry) -> float:
    """Share of one view that ridge regression on the other explains, by leave-one-out; the larger of both directions.

    From target to source on the principal components of the source, from source to target by the kernel that imputes
    best.
    """
    source = geometry.source
    assert source is not None
    some = spread(len(geometry.X), MOST_R2_PAIRS)
    X, S = geometry.X[some], source.linear[geometry.rows[some]]
    forward = loo_ridge(X - X.mean(axis=0), S - S.mean(axis=0)).explained
    return float(max(forward, geometry.imputation.explained))
