"""One split of one data set: its rows, views and ground truths, which all fits of the split share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from experiments.datasets import info
from experiments.harness.data import Pipelines, TrainingViews, evaluation_views, refit_target, training_views
from experiments.harness.protocol import Protocol, relevance_kinds, relevance_matrix
from experiments.harness.store import ResultStore
from thpi.datasets import PairedDataset
from thpi.evaluation import (
    Split,
    database_rows,
    mean_average_precision,
    query_mean,
    ranked_average_precision,
    split_rows,
)
from thpi.index import asymmetric_distances

# Added to the seed: the shuffle and the sample of queries are other streams than the split.
_SHUFFLE = 1_000_003
_SAMPLE = 2_000_003


class Training(NamedTuple):
    """Rows of a fit: target rows of the whole set, row numbers of the pairs, their source, further source rows."""

    target: Any
    rows: Any
    privileged: Any
    source: Any


@dataclass
class Bench:
    """Rows, views and ground truths of a split, each made when first needed.

    Training and coding see ``views``; nearness is measured in ``judged``. In ``all_target`` the preprocessing has seen
    every target row that is not a query. ``shared`` is for what several fits of the split need and one has computed.
    """

    dataset: PairedDataset
    split: Split
    seed: int
    protocol: Protocol
    make_views: Callable[[], TrainingViews]
    make_judged: Callable[[], TrainingViews]
    make_all_target: Callable[[], TrainingViews]
    shared: dict[Any, Any] = field(default_factory=dict)
    _relevance: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def views(self) -> TrainingViews:
        """Views for training on the pairs."""
        return self.make_views()

    @cached_property
    def judged(self) -> TrainingViews:
        """Views in which nearness is measured."""
        return self.make_judged()

    @cached_property
    def all_target(self) -> TrainingViews:
        """Views for training on every row that is not a query."""
        return self.make_all_target()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Meanings of relevant that the data set has."""
        return relevance_kinds(self.dataset)

    @property
    def database(self) -> Any:
        """Rows that are searched."""
        return database_rows(self.split, self.protocol.database)

    @property
    def known_labels(self) -> Any:
        """Classes of the pairs, or their tags."""
        data, rows = self.dataset, self.split.train
        return data.labels[rows] if data.labels is not None else np.asarray(data.tags[rows])  # type: ignore[index]

    def training(self, trained_on: str = "pairs", *, shuffled: bool = False) -> Training:
        """Return the rows of a fit on the pairs or, with ``"all"``, on every row that is not a query.

        ``shuffled`` permutes the source rows of the pairs against their target rows.
        """
        if trained_on == "all":
            views, rows = self.all_target, database_rows(self.split, "all")
            return Training(views.target, rows, views.source[rows], views.source_only)
        views, rows = self.views, self.split.train
        S, unpaired = views.source[rows], views.source[self.split.rest]
        if shuffled:
            S = S[np.random.RandomState(_SHUFFLE + self.seed).permutation(len(S))]
        if views.source_only is not None:
            unpaired = np.vstack([unpaired, views.source_only])
        return Training(views.target, rows, S, unpaired)

    def fitted_on_pairs(self, hasher: Any, *, with_labels: bool = False, shuffled: bool = False) -> tuple[Any, Any]:
        """Return the hasher, fitted on the pairs and on source rows without target, and the target rows to code."""
        target, rows, S, unpaired = self.training(shuffled=shuffled)
        y = self.known_labels if with_labels else None
        return hasher.fit(target[rows], y, privileged=S, source=unpaired), target

    def measured(self, hasher: Any, target: Any, order: str = "hamming") -> dict[str, dict[str, Any]]:
        """MAP under every meaning, with the number of queries and of those to which nothing is relevant."""
        codes = hasher.transform(target)
        queries, rows = codes[self.split.query], codes[self.database]
        finer = None
        if order == "asymmetric":
            projections = hasher.decision_function(target[self.split.query])
            finer = asymmetric_distances(projections, rows)
        measures = {}
        for kind in self.kinds:
            relevance = self.relevance(kind)
            if finer is None:
                found = mean_average_precision(queries, rows, relevance, hasher.n_bits)
            else:
                found = query_mean(ranked_average_precision(finer, relevance))
            measures[kind] = {"map": found.value, "n_queries": found.n_queries, "n_empty": found.n_empty}
        return measures

    def relevance(self, kind: str) -> Any:
        """Ground truth of one kind, made once."""
        if kind not in self._relevance:
            self._relevance[kind] = relevance_matrix(
                kind, self.protocol, self.split, target=self.judged.target, source=self.judged.source,
                labels=self.dataset.labels, tags=self.dataset.tags, random_state=self.seed,
            )  # fmt: skip
        return self._relevance[kind]


def make_bench(
    dataset: PairedDataset,
    protocol: Protocol,
    alpha: float,
    seed: int,
    identity: dict[str, Any],
    store: ResultStore,
    pipelines: Pipelines | None = None,
) -> Bench:
    """Return the bench of a split; views that are slow to make are kept on disk.

    Without ``pipelines`` the rows are prepared as the registry says.
    """
    split = split_rows(dataset.n, alpha, random_state=seed)
    if protocol.max_queries is not None and len(split.query) > protocol.max_queries:
        asked = np.random.RandomState(_SAMPLE + seed).choice(split.query, protocol.max_queries, replace=False)
        split = split._replace(query=np.sort(asked))
    made = pipelines or info(dataset.name).pipelines()
    judged = cache(lambda: evaluation_views(dataset, made, identity, store))
    if protocol.fit_on == "all":
        views = cache(lambda: judged().astype(protocol.dtype))
        return Bench(dataset, split, seed, protocol, views, judged, views)
    views = cache(lambda: training_views(dataset, split, made))
    return Bench(dataset, split, seed, protocol, views, judged, lambda: refit_target(dataset, split, views(), made))
