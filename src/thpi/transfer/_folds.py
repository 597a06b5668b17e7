"""Cross-validation of candidates on the training pairs, under the relevance that is meant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold

from thpi.codes import pack_signs
from thpi.hashers._class_itq import taught_by_classes
from thpi.hashers._geometry import Geometry
from thpi.hashers._group_itq import taught_by_groups
from thpi.hashers._neighbour_hash import keep_neighbours
from thpi.hashers._source_features import SourceFeatures
from thpi.hashers._transfer_itq import taught_by_source
from thpi.metrics._average_precision import _expected
from thpi.metrics._histograms import distance_histograms
from thpi.metrics._sums import harmonic
from thpi.solvers.blocks import spread
from thpi.transfer._candidates import Candidate

__all__ = ["RELEVANT_SHARE", "FoldScores", "Folds"]

Array = npt.NDArray[Any]

RELEVANT_SHARE = 1 / 30
"""Near is what lies within the mean distance to this share of the pairs, and at least 5 of them: the paper's 50
neighbours are 1/20 to 1/60 of its collections, and fewer than 5 in a sample of pairs would be noise."""

GROUP_SHARE = 1 / 10
"""Of one group is what is this near by diffusion over the source's graph of neighbours; as if there were ten groups."""

# Selection needs the order of the candidates, not their last digit.
_FOLD_STEPS = {"max_iter": 20, "tol": 1e-4}
_LAST_STEPS = {"max_iter": 60, "tol": 1e-5}
_FOLD_NEIGHBOURS: dict[str, Any] = {"max_iter": 15, "tol": 1e-4, "max_rows": 500}
_LAST_STARTS = 8
_MOST_MORE = 1000


@dataclass(frozen=True)
class FoldScores:
    """Average precision of every pair that has something relevant (starts x pairs), and the pairs' folds."""

    precisions: Array
    fold_of: Array

    @property
    def by_fold(self) -> Array:
        """Mean of each fold from each start."""
        return np.hstack([self.precisions[:, self.fold_of == fold].mean(axis=1) for fold in np.unique(self.fold_of)])

    @property
    def mean(self) -> float:
        """Mean over queries and starts."""
        return float(self.precisions.mean())

    def part_like(self, other: FoldScores) -> FoldScores:
        """The scores on those folds and starts alone that ``other`` has."""
        rows = np.isin(self.fold_of, other.fold_of)
        return FoldScores(self.precisions[: len(other.precisions), rows], self.fold_of[rows])

    def gain_over(self, other: FoldScores) -> tuple[float, float]:
        """Mean gain over another candidate and its standard error.

        The error has two sources, queries and fits; both are estimated, from paired differences of queries and of
        fold means, and the larger is taken.
        """
        difference = (self.precisions - other.precisions).mean(axis=0)
        fits = self.by_fold - other.by_fold
        errors = [values.std(ddof=1) / np.sqrt(len(values)) for values in (difference, fits) if len(values) > 1]
        return float(difference.mean()), float(max(errors, default=np.inf))


class Folds:
    """Divisions of the pairs with their ground truth and geometries, which all candidates share.

    A held-out row asks, the other rows of its fold answer: codes of rows that were learned from are not those that a
    search will meet. Each fold is learned from ``n_starts`` random starts. Of the held-out rows neither target nor
    labels are seen in learning; their source rows take part in the components of the source, for which no target is
    needed. ``widths`` are the kernels among which a fold chooses; it learns from ``most_learned`` rows at most, and
    from at most 1,000 of ``more``, target rows without a source, which are the same in every fold.
    """

    def __init__(
        self,
        X: Array,
        source: SourceFeatures | None,
        relevant: Array,
        labels: Array | None,
        *,
        more: Array,
        kept: Array,
        widths: tuple[float | None, ...],
        n_bits: int,
        n_folds: int,
        most_learned: int,
        n_starts: int,
        seed: int,
    ) -> None:
        self.relevant, self.labels, self.n_bits, self.kept = relevant, labels, n_bits, kept
        self._source = source
        self._division: dict[str, Any] = {"n_folds": n_folds, "most_learned": most_learned, "seed": seed}
        self.X, self.fold_of = X, np.empty(len(X), dtype=np.int64)
        more = more[spread(len(more), _MOST_MORE)]
        self.geometries: list[tuple[Geometry, Array]] = []
        for fold, (train, held) in enumerate(KFold(n_folds, shuffle=True, random_state=seed).split(X)):
            self.fold_of[held] = fold
            if len(train) > most_learned:
                train = np.sort(np.random.RandomState(seed + fold).choice(train, most_learned, replace=False))
            geometry = Geometry(X[train], n_bits, seed, source, rows=train, widths=widths, more=more)
            self.geometries.append((geometry, held))
        self.n_starts = n_starts

    @cached_property
    def asked(self) -> Array:
        """Which rows are queries: those to which another row of their fold is relevant."""
        same_fold = self.fold_of[:, None] == self.fold_of
        return np.asarray((self.relevant & same_fold).any(axis=1))

    @property
    def can_judge(self) -> bool:
        """Whether every fold has a query; with few pairs of many classes that is not so."""
        return len(np.unique(self.fold_of[self.asked])) == len(self.geometries)

    def of(self, X: Array, more: Array, widths: tuple[float | None, ...]) -> Folds:
        """The same folds of the same pairs, their target rows in other coordinates."""
        return Folds(
            X, self._source, self.relevant, self.labels, more=more,
            kept=self.kept, widths=widths, n_bits=self.n_bits, n_starts=self.n_starts, **self._division,
        )  # fmt: skip

    def score(self, candidate: Candidate, n_folds: int | None = None) -> FoldScores:
        """Average precisions of a candidate, on all folds and starts, or from one start on the first ``n_folds``."""
        geometries = self.geometries[:n_folds]
        starts = self.n_starts if n_folds is None else 1
        asked = self.asked & (self.fold_of < len(geometries))
        precisions = np.empty((starts, len(self.X)))
        for geometry, held in geometries:
            for start in range(starts):
                projection = learn(candidate, geometry, self.labels, start=start, steps=_FOLD_STEPS)
                mean = geometry.pairs_mean if candidate.knows_pairs_alone else geometry.mean
                codes = pack_signs((self.X[held] - mean) @ projection)
                precisions[start, held] = _precisions(codes, self.relevant[np.ix_(held, held)], self.n_bits)
        return FoldScores(100 * precisions[:, asked], self.fold_of[asked])

    def last_fit(self, candidate: Candidate, geometry: Geometry, labels: Array | None, several: bool) -> Array:
        """Learn from all pairs; from several starts, keep the one that finds best among the pairs themselves.

        ITQ's loss says little about which of its local optima retrieves best; what is found among the training rows
        says somewhat more. NeighbourHash is begun at the best of the projections that it would begin at.
        """
        start = 0
        if several:
            rows, tried = geometry.X[self.kept], candidate.beginning
            values = []
            for number in range(min(_LAST_STARTS, 2 * self.n_starts + 1)):
                found = learn(tried, geometry, labels, start=number, steps=_LAST_STEPS)
                values.append(float(_precisions(pack_signs(rows @ found), self.relevant, self.n_bits).mean()))
            start = int(np.argmax(values))
        return learn(candidate, geometry, labels, start=start, steps=_LAST_STEPS)


def learn(
    candidate: Candidate,
    geometry: Geometry,
    labels: Array | None,
    *,
    start: int = 0,
    steps: dict[str, Any] = _LAST_STEPS,
) -> Array:
    """Projection (coordinates x bits) of a candidate in a geometry."""
    params = candidate.params
    if candidate.method == "ITQ":
        return geometry.plain(start).projection
    if candidate.method == "TransferITQ":
        return _transferred(geometry, params, start, steps)
    if candidate.method == "ClassITQ":
        assert labels is not None
        taught = taught_by_classes(geometry, labels[geometry.rows], params["soft_weight"], params.get("shrinkage", 1.0))
        dial, weight = params["dial"], params["imputed_weight"]
        return geometry.quantise(taught.W, dial, weight, start=start, **steps).projection
    if candidate.method == "GroupITQ":
        taught = taught_by_groups(geometry, params["own_share"])
        return geometry.quantise(taught.W, params["dial"], params["imputed_weight"], start=start, **steps).projection
    if candidate.method == "NeighbourHash":
        begin = learn(candidate.beginning, geometry, labels, start=start, steps=steps)
        within = _FOLD_NEIGHBOURS if steps is _FOLD_STEPS else {}
        return keep_neighbours(geometry, begin, params["near"], tether=params["tether"], **within).projection
    hasher = candidate.make(geometry.n_bits, random_state=(geometry.seed + start) % 2**32).set_params(**steps)
    source = geometry.source
    if not candidate.uses_source:
        hasher.fit(geometry.real, privileged=geometry.real)  # its weight is 0
    else:
        assert source is not None
        hasher.fit(geometry.X, privileged=source.linear[geometry.rows], source=source.linear[geometry.unpaired])
    return np.asarray(hasher.projection_)


def _transferred(geometry: Geometry, params: dict[str, Any], start: int, steps: Any) -> Array:
    """Projection of TransferITQ; kept, for NeighbourHash begins at it."""
    teacher, shrinkage = params.get("teacher", "rbf"), params.get("shrinkage", 1.0)
    dial, weight = params.get("dial", 0.1), params.get("imputed_weight", 0.3)

    def make() -> Array:
        W = taught_by_source(geometry, teacher, shrinkage).W if dial > 0 else None
        return geometry.quantise(W, dial, weight, start=start, **steps).projection

    return geometry.kept(f"{teacher} {shrinkage} {dial} {weight} {start} {steps}", make)


def relevance_of_pairs(relevance: str, X: Array, source: SourceFeatures | None, labels: Array | None) -> Array:
    """Which pairs are relevant to which (n x n, the diagonal false)."""
    # Here and not above: thpi.evaluation asks for the registry of hashers, which asks for AutoHasher.
    from thpi.evaluation.ground_truth import label_relevance, multilabel_relevance, neighbour_radius, radius_relevance

    if relevance == "labels":
        assert labels is not None
        relevant = label_relevance(labels, labels) if labels.ndim == 1 else multilabel_relevance(labels, labels)
    else:
        space, share = X, RELEVANT_SHARE
        if relevance != "target":
            assert source is not None
            space = (source.linear if relevance == "source" else source.diffusion)[: source.n]
            share = RELEVANT_SHARE if relevance == "source" else GROUP_SHARE
        k = min(len(X) - 1, max(5, round(share * len(X))))
        relevant = radius_relevance(space, space, neighbour_radius(space, form="plain", k=k))
    relevant = np.array(relevant, dtype=np.bool_)
    np.fill_diagonal(relevant, False)
    return relevant


def _precisions(codes: Array, relevant: Array, n_bits: int) -> Array:
    """Average precision, expected under ties, of each row among all others."""
    histograms = distance_histograms(codes, codes, relevant, n_bits)
    t, r = histograms.hist_all.copy(), histograms.hist_relevant
    t[:, 0] -= 1  # the row itself is no answer
    a, R = t.cumsum(axis=1) - t, r.cumsum(axis=1) - r
    total = r.sum(axis=1)
    sums = _expected(t, r, a, R, harmonic(len(codes))).sum(axis=1)
    return np.asarray(sums / np.maximum(total, 1))
