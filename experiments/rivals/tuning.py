"""Rivals are tuned as AutoHasher is: three folds of the pairs, held-out rows queries among the others of their fold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold

import thpi
from experiments.rivals.features import FeatureChoice, Features, Floats, fit_features
from experiments.rivals.rival import Affine, Rival, Training
from experiments.rivals.source import Source
from thpi.auto import Spaces

N_FOLDS = 3
LEAST_PAIRS = 12
MOST_LEARNED = 334
"""Rows that a fold learns from at most; AutoHasher's 500 pairs less one fold."""
MOST_HELD = 500

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Part:
    """Rows that are learned from, and rows that are held out; their features are computed once for all rivals."""

    def __init__(self, X: Floats, train: Ints, held: Ints, seed: int) -> None:
        self.X, self.train, self.held, self.seed = X, train, held, seed
        self._features: dict[FeatureChoice, tuple[Features, Floats]] = {}

    def features(self, choice: FeatureChoice) -> tuple[Features, Floats]:
        """Return the features of the training rows with their map, and those of the held-out rows."""
        if choice not in self._features:
            found = fit_features(self.X[self.train], choice, np.random.RandomState(self.seed))
            self._features[choice] = found, found(self.X[self.held])
        return self._features[choice]


class Tuned(NamedTuple):
    """Hash functions of a rival, the features they read, the parameters, and the score on the folds (None: none)."""

    features: Features
    functions: Affine
    params: dict[str, Any]
    score: float | None

    def __call__(self, rows: Any) -> Floats:
        """Return the projections of rows, whose signs are the code."""
        return self.functions(self.features(rows))


class Pairs:
    """The pairs of a split: target rows, labels if any, source rows if any; folds of them that all rivals share."""

    def __init__(self, X: Any, y: Any = None, privileged: Any = None, source: Any = None, *, seed: int) -> None:
        self.X, self.seed = np.asarray(X, dtype=np.float64), seed
        self.y = None if y is None else np.asarray(y)
        self.source = None if privileged is None else Source(privileged, source, seed)
        n = len(self.X)
        self.whole = Part(self.X, np.arange(n), np.arange(0), seed)
        self.folds = list(self._folds(n)) if n >= LEAST_PAIRS else []
        self._relevant: dict[str, Bools] = {}

    def _folds(self, n: int) -> Iterator[Part]:
        rng = np.random.RandomState(self.seed)
        kept = np.sort(rng.permutation(n)[: N_FOLDS * MOST_HELD])
        for train, held in KFold(N_FOLDS, shuffle=True, random_state=self.seed).split(kept):
            some = np.sort(rng.permutation(train)[:MOST_LEARNED])
            yield Part(self.X, kept[some], kept[held], self.seed)

    def relevant(self, meaning: str) -> Bools:
        """Which of the rows are relevant to which."""
        if meaning not in self._relevant:
            source = self.source
            known = (self.X, self.y)
            spaces = Spaces(*known)
            if source is not None:
                spaces = Spaces(*known, source.rows[: source.n], lambda: source.groups()[: source.n])
            self._relevant[meaning] = thpi.RELEVANCES[meaning].of_pairs(spaces)
        return self._relevant[meaning]

    def training(self, part: Part, choice: FeatureChoice, meaning: str) -> Training:
        """Return what a rival may know of a part: labels only if they decide what is relevant."""
        labels = None if meaning != "labels" or self.y is None else indicators(self.y)[part.train]
        relevant = self.relevant(meaning)[np.ix_(part.train, part.train)]
        return Training(part.features(choice)[0].values, relevant, labels, self.source, part.train)

    def score(self, rival: Rival, meaning: str, n_bits: int, params: dict[str, Any]) -> float | None:
        """Mean average precision over the queries of all folds; None if some fold has none."""
        found = []
        for part in self.folds:
            training = self.training(part, params["features"], meaning)
            functions = rival.learn(training, n_bits, params, np.random.RandomState(self.seed))
            projections = functions(part.features(params["features"])[1])
            found.append(average_precisions(projections, self.relevant(meaning)[np.ix_(part.held, part.held)]))
        return float(np.concatenate(found).mean()) if found and all(len(values) for values in found) else None


def tuned(rival: Rival, pairs: Pairs, meaning: str, n_bits: int) -> Tuned:
    """Choose the parameters of a rival on the folds, stage by stage, and learn it from all pairs."""
    params, best = rival.first, None
    for stage in rival.stages:
        tried = [params | dict(zip(stage, values, strict=True)) for values in product(*stage.values())]
        scores = [pairs.score(rival, meaning, n_bits, one) for one in tried]
        if scores[0] is None:
            break
        best = max(score for score in scores if score is not None)
        params = tried[scores.index(best)]
    training = pairs.training(pairs.whole, params["features"], meaning)
    functions = rival.learn(training, n_bits, params, np.random.RandomState(pairs.seed))
    return Tuned(pairs.whole.features(params["features"])[0], functions, params, best)


def indicators(y: npt.NDArray[Any]) -> Floats:
    """One column per class or tag.

    >>> indicators(np.array(["b", "a", "b"])).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """
    if y.ndim == 2:
        return np.asarray(y, dtype=np.float64)
    _, numbers = np.unique(y, return_inverse=True)
    return np.asarray(np.eye(numbers.max() + 1)[numbers])


def average_precisions(projections: Floats, relevant: Bools) -> Floats:
    """Average precision, expected under ties, of each row to which another is relevant, among all others.

    >>> average_precisions(np.array([[1.0, 1], [1, -1], [-1, 1]]), np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], bool))
    array([0.75])
    """
    n, n_bits = projections.shape
    B = np.where(projections > 0, np.float32(1), np.float32(-1))
    distances = np.rint((n_bits - B @ B.T) / 2).astype(np.int64)
    np.fill_diagonal(distances, n_bits + 1)  # behind all others: the row itself is no answer
    place = (distances + (n_bits + 2) * np.arange(n)[:, None]).ravel()
    t, r = (
        np.bincount(place, weights, n * (n_bits + 2)).reshape(n, -1)[:, :-1] for weights in (None, relevant.ravel())
    )
    # t rows at each distance, r of them relevant, after a rows with R relevant: see thpi.evaluation.average_precision.
    a, R = (counts.cumsum(axis=1) - counts for counts in (t, r))
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
    h = harmonic[(a + t).astype(np.int64)] - harmonic[a.astype(np.int64)]
    slope = np.where(t > 1, (r - 1) / np.maximum(t - 1, 1), 0.0)
    sums = (r / np.maximum(t, 1) * ((R + 1) * h + slope * (t - (a + 1) * h))).sum(axis=1)
    asked = relevant.any(axis=1)
    return np.asarray(sums[asked] / relevant[asked].sum(axis=1))
