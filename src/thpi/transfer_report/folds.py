"""The user's pairs divided into folds: the rows held out are queries, the others are training rows and database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.model_selection import KFold

from thpi._checks import some_rows
from thpi._views import stacked
from thpi.base import TooManyBitsError, Views
from thpi.evaluation import label_relevance, multilabel_relevance, nearest_relevance
from thpi.hashers._optional_source import MAX_TARGET
from thpi.hashers._source_features import SourceFeatures
from thpi.metrics import average_precision

__all__ = ["Fold", "Pairs", "divide"]

Rows = npt.NDArray[np.int64]

_MAX_UNPAIRED = 3000  # as for AutoHasher


class Pairs(NamedTuple):
    """Target rows, the source rows that go with them, unpaired source rows, labels and unpaired target rows or None."""

    X: Any
    S: Any
    source: Any
    y: Any
    target: Any = None

    def take(self, rows: Rows) -> Pairs:
        """Keep some pairs; what is unpaired stays."""
        return self._replace(X=self.X[rows], S=self.S[rows], y=None if self.y is None else self.y[rows])

    def with_source(self, more: Any) -> Pairs:
        """Add source rows without target."""
        if not more.shape[0]:
            return self
        return self._replace(source=more if self.source is None else stacked(self.source, more))

    def fit(self, hasher: Any, uses_source: bool = True) -> Any:
        """Fit a hasher on whatever of these it can use; where it uses no source, on target rows without one too.

        ITQ+ without slack uses none, though it asks for ``privileged``. Of the paper's methods, those with a source
        know pairs alone.
        """
        given = {"privileged": self.S, "source": self.source}
        if self.target is None:
            return hasher.fit(self.X, self.y, **given)
        if hasher.uses_target:
            return hasher.fit(self.X, self.y, **given, target=self.target)
        if uses_source:
            return hasher.fit(self.X, **given)
        X = stacked(self.X, some_rows(self.target, MAX_TARGET))
        return hasher.fit(X, privileged=X)


class Fold:
    """One division and its ground truth, which all methods share: the nearest in ``space``, or None for labels.

    The source of the held-out rows says what is relevant where nearness in source space is meant; no method sees it.
    """

    def __init__(self, pairs: Pairs, train: Rows, held: Rows, space: Any, share: float) -> None:
        self.training, self.queries = pairs.take(train), pairs.X[held]
        if space is None:
            y = pairs.y
            found: Any = label_relevance(y[held], y[train]) if y.ndim == 1 else multilabel_relevance(y[held], y[train])
        else:
            k = min(len(train), max(3, round(share * len(train))))
            found = nearest_relevance(space[held], space[train], k)
        self.relevance = found.toarray() if sparse.issparse(found) else found

    def precisions(
        self, hasher: Any, pairs: Pairs | None = None, uses_source: bool = True
    ) -> npt.NDArray[np.float64] | None:
        """Average precision in percent of each query, by a hasher fitted on ``pairs`` (default: all of the fold).

        NaN where nothing is relevant; None where the data do not allow so many bits.
        """
        rows = self.training if pairs is None else pairs
        try:
            rows.fit(hasher, uses_source)
        except TooManyBitsError:
            return None
        codes = hasher.transform(self.queries), hasher.transform(self.training.X)
        return 100 * average_precision(*codes, self.relevance, hasher.n_bits)


def divide(pairs: Pairs, relevance: str, n_folds: int, share: float, seed: int) -> Iterator[Fold]:
    """Give the folds, the same for every meaning of relevant."""
    space = _space(pairs, relevance, seed)
    for train, held in KFold(n_folds, shuffle=True, random_state=seed).split(np.arange(pairs.X.shape[0])):
        yield Fold(pairs, train, held, space, share)


def _space(pairs: Pairs, relevance: str, seed: int) -> Any:
    """Where nearness is meant; None for labels. Groups are those of the graph over all source rows."""
    if relevance == "groups":
        views = Views(pairs.X, pairs.S, pairs.source)
        return SourceFeatures(views, np.random.RandomState(seed), _MAX_UNPAIRED).diffusion[: pairs.S.shape[0]]
    return {"target": pairs.X, "source": pairs.S, "labels": None}[relevance]
