"""One split of one data set: fit every line, measure it under every meaning of relevant, keep each result at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import thpi
from thpi.base import TooManyBitsError
from thpi.datasets import PairedDataset
from thpi.evaluation import PROTOCOLS, DataSpec, ResultStore, relevance_kinds, relevance_matrix
from thpi.evaluation.data import TrainingViews, evaluation_views, load_rows, refit_target, training_views
from thpi.evaluation.split import database_rows, split_rows
from thpi.index import asymmetric_distances
from thpi.metrics import mean_average_precision, query_mean, ranked_average_precision
from thpi.transfer_report.lines import LINES, Line

__all__ = ["Fit", "TransferTask", "finished", "fits_left", "forget", "run_transfer_task"]

KIND = "transfer"
PROTOCOL = PROTOCOLS["standard"]
_SHUFFLE = 1_000_003  # added to the seed: the shuffle is another stream than the split


class Fit(NamedTuple):
    """One fit: a line at a code length, told one meaning of relevant (None: the line is not told)."""

    line: str
    bits: int
    relevance: str | None


@dataclass(frozen=True)
class TransferTask:
    """All fits of one split: the unit of work that is given to a process."""

    set_name: str
    data: DataSpec
    alpha: float
    seed: int
    bits: tuple[int, ...]
    control_bits: tuple[int, ...]
    lines: tuple[str, ...]
    relevances: tuple[str, ...]
    identity: dict[str, Any] = field(compare=False)

    @property
    def fits(self) -> tuple[Fit, ...]:
        """What is to be fitted."""
        return tuple(
            Fit(key, bits, relevance)
            for bits in self.bits
            for key in self.lines
            if bits in self.control_bits or not LINES[key].one_length
            for relevance in LINES[key].told(self.relevances)
        )

    def config(self, fit: Fit) -> dict[str, Any]:
        """What a result hangs on."""
        return {
            "thpi": thpi.__version__,
            "data": self.identity,
            "protocol": PROTOCOL.name,
            "alpha": self.alpha,
            "seed": self.seed,
            **LINES[fit.line].to_dict(fit.bits, fit.relevance),
        }


def finished(task: TransferTask, store: ResultStore) -> dict[Fit, dict[str, Any]]:
    """Give the results of a task that are there."""
    known = ((fit, store.read_values(KIND, task.config(fit))) for fit in task.fits)
    return {fit: values for fit, values in known if values is not None}


def run_transfer_task(task: TransferTask, store: ResultStore, data_home: str | None = None) -> None:
    """Do the fits of a task that have no result yet."""
    done = finished(task, store)
    missing = [fit for fit in task.fits if fit not in done]
    if not missing:
        return
    bench = _Bench(task, store, load_rows(task.data, data_home))
    for fit in missing:
        config = task.config(fit)
        if store.read_values(KIND, config) is None:  # lines that are judged by different meanings may share a fit
            store.write_values(KIND, config, bench.result(fit))


class _Bench:
    """Rows, views and ground truths of a split, which all fits share."""

    def __init__(self, task: TransferTask, store: ResultStore, dataset: PairedDataset) -> None:
        self.task, self.dataset = task, dataset
        self.split = split_rows(dataset.n, task.alpha, random_state=task.seed)
        self.kinds = relevance_kinds(dataset)
        self.database = database_rows(self.split, PROTOCOL.database)
        self.views = training_views(dataset, self.split)
        self.judged = evaluation_views(dataset, task.identity, store)
        self._all_target: TrainingViews | None = None
        self._relevance: dict[str, Any] = {}

    def result(self, fit: Fit) -> dict[str, Any]:
        """Fit and measure; where the data do not allow so many bits, the reason."""
        line = LINES[fit.line]
        if fit.relevance == "labels" and "labels" not in self.kinds:
            return {"unavailable": f"{self.dataset.name} has neither classes nor tags"}
        start = time.perf_counter()
        try:
            hasher, target = self._fitted(line, fit)
        except TooManyBitsError as error:
            return {"unavailable": str(error)}
        codes = hasher.transform(target)
        seconds = time.perf_counter() - start
        queries, rows = codes[self.split.query], codes[self.database]
        finer = None
        if line.order == "asymmetric":
            projections = hasher.decision_function(target[self.split.query])
            finer = asymmetric_distances(projections, np.broadcast_to(rows, (len(queries), *rows.shape)))
        measures = {}
        for kind in self.kinds:
            relevance = self.relevance(kind)
            if finer is None:
                found = mean_average_precision(queries, rows, relevance, fit.bits)
            else:
                found = query_mean(ranked_average_precision(finer, relevance))
            measures[kind] = {"map": found.value, "n_queries": found.n_queries, "n_empty": found.n_empty}
        about = {"n_rows": self.dataset.n, "n_pairs": len(self.split.train), "seconds": seconds}
        return {"measures": measures, **about, **_choice(hasher)}

    def _fitted(self, line: Line, fit: Fit) -> tuple[Any, Any]:
        hasher = line.hasher(fit.bits, fit.relevance, self.task.seed)
        if line.trained_on == "all":
            if self._all_target is None:
                self._all_target = refit_target(self.dataset, self.split, self.views)
            target, rows = self._all_target.target, self.database
            paired = {"privileged": self.views.source[rows]} if line.per_relevance else {}
            return hasher.fit(target[rows], **paired), target
        rows, views = self.split.train, self.views
        S = views.source[rows]
        if line.shuffled:
            S = S[np.random.RandomState(_SHUFFLE + self.task.seed).permutation(len(S))]
        unpaired = views.source[self.split.rest]
        if views.source_only is not None:
            unpaired = np.vstack([unpaired, views.source_only])
        y = self._known_labels() if fit.relevance == "labels" else None
        return hasher.fit(views.target[rows], y, privileged=S, source=unpaired), views.target

    def _known_labels(self) -> Any:
        data, rows = self.dataset, self.split.train
        return data.labels[rows] if data.labels is not None else np.asarray(data.tags[rows])  # type: ignore[index]

    def relevance(self, kind: str) -> Any:
        """Ground truth of one kind, made once."""
        if kind not in self._relevance:
            self._relevance[kind] = relevance_matrix(
                kind, PROTOCOL, self.split, target=self.judged.target, source=self.judged.source,
                labels=self.dataset.labels, tags=self.dataset.tags, random_state=self.task.seed,
            )  # fmt: skip
        return self._relevance[kind]


def _choice(hasher: Any) -> dict[str, Any]:
    """What an AutoHasher chose."""
    if not hasattr(hasher, "choice_"):
        return {}
    found = next(candidate for candidate in hasher.candidates_ if candidate["name"] == hasher.choice_)
    return {"choice": found["name"], "uses_source": bool(found["uses_source"])}


def fits_left(tasks: list[TransferTask], store: ResultStore) -> Iterator[tuple[TransferTask, int]]:
    """Give the tasks with something left to do, and how many fits."""
    for task in tasks:
        # Reading checks every file; to know whether there is work, its name is enough.
        paths = {store.path(KIND, task.config(fit), "json") for fit in task.fits}
        left = sum(not path.is_file() for path in paths)
        if left:
            yield task, left


def forget(tasks: list[TransferTask], store: ResultStore, lines: tuple[str, ...]) -> None:
    """Remove the results of some lines, for methods whose code has changed though their parameters have not."""
    unknown = [line for line in lines if line not in LINES]
    if unknown:
        raise ValueError(f"again: {unknown[0]!r} is not one of {', '.join(LINES)}.")
    for task in tasks:
        for fit in task.fits:
            if fit.line in lines:
                store.path(KIND, task.config(fit), "json").unlink(missing_ok=True)
