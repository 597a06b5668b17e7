"""The pairs divided into folds: rows held out are queries among each other, the others are training rows."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from thpi._types import Array, Bools, Floats
from thpi.auto import AutoHasher, Candidate, Relevance, Spaces, Trial
from thpi.base import Views
from thpi.evaluation import average_precision_among
from thpi.hashers import SourceFeatures


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


def view_spaces(views: Views, seed: int, max_unpaired: int) -> Spaces:
    """The spaces of all pairs as the user gave them; the groups are those of the graph over all source rows."""

    def groups() -> Array:
        return SourceFeatures(views, np.random.RandomState(seed), max_unpaired).diffusion[: views.X.shape[0]]

    return Spaces(views.X, views.y, views.S, groups)


def divide(hasher: AutoHasher, views: Views, relevance: Relevance, n_folds: int) -> Iterator[Fold]:
    """Return the folds; they are the same for every relevance."""
    seed = int(hasher.random_state)  # type: ignore[arg-type]  # set by diagnose
    relevant = relevance.of_pairs(view_spaces(views, seed, hasher.max_unpaired))
    for train, held in KFold(n_folds, shuffle=True, random_state=seed).split(np.arange(views.X.shape[0])):
        yield Fold(hasher, views.take(train), views.X[held], relevant[np.ix_(held, held)])
