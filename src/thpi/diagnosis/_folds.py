"""The pairs divided into folds: rows held out are queries, the others are training rows and database."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from thpi._input import Views
from thpi._types import Array, Floats
from thpi.auto import AutoHasher, Candidate, Relevance, Spaces
from thpi.auto._trial import Trial
from thpi.hashers._source_features import SourceFeatures
from thpi.metrics import average_precision


class Fold:
    """One division and its ground truth, which all methods share.

    For source nearness the source of the held-out rows decides what is relevant; no method sees it.
    """

    def __init__(self, hasher: AutoHasher, training: Views, queries: Any, relevant: Array) -> None:
        self.hasher, self.training, self.queries, self.relevant = hasher, training, queries, relevant

    def trial(self, views: Views, *, scored: bool = True) -> Trial:
        """A trial of candidates on some rows, as ``fit`` makes it."""
        return self.hasher._trial(views, check_random_state(self.hasher.random_state), scored=scored)

    def precisions(self, trial: Trial, candidate: Candidate) -> Floats:
        """Average precision in percent of each query, by a candidate learned from the rows of the trial.

        NaN if nothing is relevant to the query.
        """
        learned = copy(self.hasher)._set_fitted(trial.views, trial.learn(candidate))
        codes = learned.transform(self.queries), learned.transform(self.training.X)
        return 100 * average_precision(*codes, self.relevant, learned.n_bits)


def view_spaces(views: Views, seed: int, max_unpaired: int) -> Spaces:
    """The spaces of all pairs as the user gave them; the groups are those of the graph over all source rows."""

    def groups() -> Array:
        return SourceFeatures(views, np.random.RandomState(seed), max_unpaired).diffusion[: views.X.shape[0]]

    return Spaces(views.X, views.y, views.S, groups)


def divide(hasher: AutoHasher, views: Views, relevance: Relevance, n_folds: int, share: float) -> Iterator[Fold]:
    """Return the folds; they are the same for every relevance."""
    seed = hasher.random_state
    spaces = view_spaces(views, int(seed), hasher.max_unpaired)  # type: ignore[arg-type]  # set by diagnose
    for train, held in KFold(n_folds, shuffle=True, random_state=seed).split(np.arange(views.X.shape[0])):
        yield Fold(hasher, views.take(train), views.X[held], relevance.of_queries(spaces, held, train, share))
