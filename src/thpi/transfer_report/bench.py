"""One split of one data set: lines are fitted on its pairs and measured under every meaning of relevant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thpi.datasets import PairedDataset
from thpi.evaluation import PROTOCOLS, ResultStore, relevance_kinds, relevance_matrix
from thpi.evaluation.data import TrainingViews, evaluation_views, refit_target, training_views
from thpi.evaluation.split import Split, database_rows, split_rows
from thpi.index import asymmetric_distances
from thpi.metrics import mean_average_precision, query_mean, ranked_average_precision
from thpi.transfer_report.lines import Line

__all__ = ["PROTOCOL", "Bench", "make_bench"]

PROTOCOL = PROTOCOLS["standard"]
_SHUFFLE = 1_000_003  # added to the seed: the shuffle is another stream than the split


@dataclass
class Bench:
    """Rows, views and ground truths of a split, which all fits share.

    ``views`` are what training and coding see; nearness is measured in ``judged``. ``make_all_target`` gives the views
    where the preprocessing has seen every target row that is no query.
    """

    dataset: PairedDataset
    split: Split
    seed: int
    views: TrainingViews
    judged: TrainingViews
    make_all_target: Callable[[], TrainingViews]
    _all_target: TrainingViews | None = None
    _relevance: dict[str, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Meanings of relevant that the data set has."""
        return relevance_kinds(self.dataset)

    @property
    def database(self) -> Any:
        """Rows that are searched."""
        return database_rows(self.split, PROTOCOL.database)

    def fitted(self, line: Line, bits: int, told: str | None) -> tuple[Any, Any]:
        """Give the hasher of a line, told a meaning of relevant, and the target rows that it codes."""
        hasher = line.hasher(bits, told, self.seed)
        if line.trained_on == "pairs":
            return self.fitted_on_pairs(hasher, with_labels=told == "labels", shuffled=line.shuffled)
        if self._all_target is None:
            self._all_target = self.make_all_target()
        target, rows = self._all_target.target, self.database
        paired = {"privileged": self.views.source[rows]} if line.per_relevance else {}
        return hasher.fit(target[rows], **paired), target

    def fitted_on_pairs(self, hasher: Any, *, with_labels: bool = False, shuffled: bool = False) -> tuple[Any, Any]:
        """Give the hasher, fitted on the pairs and on source rows without target, and the target rows that it codes."""
        rows, views = self.split.train, self.views
        S = views.source[rows]
        if shuffled:
            S = S[np.random.RandomState(_SHUFFLE + self.seed).permutation(len(S))]
        unpaired = views.source[self.split.rest]
        if views.source_only is not None:
            unpaired = np.vstack([unpaired, views.source_only])
        y = self._known_labels() if with_labels else None
        return hasher.fit(views.target[rows], y, privileged=S, source=unpaired), views.target

    def measured(self, hasher: Any, target: Any, order: str = "hamming") -> dict[str, dict[str, Any]]:
        """MAP under every meaning, with the number of queries and of those to which nothing is relevant."""
        codes = hasher.transform(target)
        queries, rows = codes[self.split.query], codes[self.database]
        finer = None
        if order == "asymmetric":
            projections = hasher.decision_function(target[self.split.query])
            finer = asymmetric_distances(projections, np.broadcast_to(rows, (len(queries), *rows.shape)))
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
                kind, PROTOCOL, self.split, target=self.judged.target, source=self.judged.source,
                labels=self.dataset.labels, tags=self.dataset.tags, random_state=self.seed,
            )  # fmt: skip
        return self._relevance[kind]

    def _known_labels(self) -> Any:
        data, rows = self.dataset, self.split.train
        return data.labels[rows] if data.labels is not None else np.asarray(data.tags[rows])  # type: ignore[index]


def make_bench(dataset: PairedDataset, alpha: float, seed: int, identity: dict[str, Any], store: ResultStore) -> Bench:
    """Give the split of a data set of the registry, with the paper's preprocessing; views that are slow are kept."""
    split = split_rows(dataset.n, alpha, random_state=seed)
    views = training_views(dataset, split)
    judged = evaluation_views(dataset, identity, store)
    return Bench(dataset, split, seed, views, judged, lambda: refit_target(dataset, split, views))
