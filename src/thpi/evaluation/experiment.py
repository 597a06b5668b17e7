"""One split of one data set: fit what is asked for, keep the codes, measure them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import thpi
from thpi.base import BaseHasher, TooManyBitsError
from thpi.datasets import PairedDataset
from thpi.evaluation.data import (
    DataSpec,
    TrainingViews,
    evaluation_views,
    load_rows,
    refit_target,
    training_views,
)
from thpi.evaluation.methods import MethodRun, tunable
from thpi.evaluation.protocol import NEIGHBOURS, PROTOCOLS, Protocol, relevance_kinds, relevance_matrix
from thpi.evaluation.selection import SelectionRule, select_lambdas
from thpi.evaluation.split import Split, database_rows, split_rows
from thpi.evaluation.store import ResultStore, config_key
from thpi.hashers import HASHERS
from thpi.metrics import average_precision, pooled_precision_recall_area, precision_at_k, query_mean

__all__ = ["Bench", "PRECISION_AT", "Task", "fit_codes", "measured", "run_task"]

PRECISION_AT = (1, 10, 20, 30, 40, 50, *range(100, 501, 50))
"""The paper's K for precision at K."""


@dataclass(frozen=True)
class Task:
    """All fits of one split: the unit of work that is given to a process."""

    data: DataSpec
    protocol: str
    alpha: float
    seed: int
    runs: tuple[MethodRun, ...]
    identity: dict[str, Any] = field(compare=False)
    selection: SelectionRule = field(default_factory=SelectionRule)

    @property
    def split_config(self) -> dict[str, Any]:
        """What the results of this split hang on, the method aside."""
        return {
            "thpi": thpi.__version__,
            "data": self.identity,
            "fit_on": PROTOCOLS[self.protocol].fit_on,
            "alpha": self.alpha,
            "seed": self.seed,
        }

    def selection_config(self, bits: int) -> dict[str, Any]:
        """What the choice of lambda1 and lambda2 hangs on."""
        defaults = {method: MethodRun(method, bits).to_dict() for method in ("ITQPlus", "LapITQPlus")}
        rule = {**self.selection.to_dict(), "database": PROTOCOLS[self.protocol].database}
        return {**self.split_config, "selection": rule, "methods": defaults}

    def fit_config(self, run: MethodRun) -> dict[str, Any]:
        """What a fit hangs on."""
        base = self.selection_config(run.bits) if run.selected else self.split_config
        return {**base, **run.to_dict()}

    @property
    def measure_config(self) -> dict[str, Any]:
        """What the measures of this split hang on; the fits stand within the file, by key."""
        return {**self.split_config, "protocol": self.protocol}


def measured(task: Task, store: ResultStore) -> dict[MethodRun, dict[str, Any]]:
    """Give what is known of the runs of a task, by run; runs without a finished result are left out."""
    values = store.read_values("measures", task.measure_config) or {}
    keys = {run: config_key(task.fit_config(run)) for run in task.runs}
    return {run: values[key] for run, key in keys.items() if key in values}


def run_task(task: Task, store: ResultStore, data_home: str | None = None) -> None:
    """Fit and measure all runs of a task that have no result yet; every fit is kept as soon as it is done."""
    done = measured(task, store)
    missing = [run for run in task.runs if run not in done]
    if not missing:
        return
    values = store.read_values("measures", task.measure_config) or {}
    per_query = store.read_arrays("queries", task.measure_config) or {}
    bench = Bench(task, store, load_rows(task.data, data_home))
    for run in missing:
        key = config_key(task.fit_config(run))
        try:
            fitted = fit_codes(task, run, bench, store)
        except TooManyBitsError as error:
            # The method cannot give so many bits on these data: an empty cell, with the reason.
            values[key] = {"run": run.label, "bits": run.bits, "unavailable": str(error)}
            continue
        entry: dict[str, Any] = {"run": run.label, "bits": run.bits, "parameters": fitted["parameters"]}
        entry |= {"seconds": fitted["seconds"], "measures": {}}
        entry |= {"n_rows": bench.dataset.n, "n_train": len(bench.split.train)}
        for kind in bench.kinds:
            means, queries = _measure(fitted["codes"], bench.relevance(kind), bench.split, bench.protocol, run.bits)
            entry["measures"][kind] = means
            per_query |= {f"{key}.{kind}.{name}": value for name, value in queries.items()}
        values[key] = entry
    # The arrays first: whoever finds the values may rely on the arrays.
    store.write_arrays("queries", task.measure_config, per_query)
    store.write_values("measures", task.measure_config, values)


def fit_codes(task: Task, run: MethodRun, bench: Bench, store: ResultStore) -> dict[str, Any]:
    """Give the codes of all rows under one method, from disk or from a new fit."""
    config = task.fit_config(run)
    kept = store.read_arrays("fits", config)
    if kept is None:
        parameters = bench.parameters(run)
        views, _, _ = bench.training(run.trained_on)
        start = time.perf_counter()
        hasher = bench.fit(run, parameters)
        kept = {
            "codes": hasher.transform(views.target),
            "training_codes": hasher.codes_,
            "seconds": np.array(time.perf_counter() - start),
            "parameter_names": np.array(sorted(parameters), dtype=str),
            "parameter_values": np.array([parameters[name] for name in sorted(parameters)], dtype=np.float64),
        }
        store.write_arrays("fits", config, kept)
    names, numbers = kept["parameter_names"].tolist(), kept["parameter_values"].tolist()
    return {
        "codes": kept["codes"],
        "seconds": float(kept["seconds"]),
        "parameters": dict(zip(names, numbers, strict=True)),
    }


class Bench:
    """The rows, views and ground truths of one split, each made when first needed."""

    def __init__(self, task: Task, store: ResultStore, dataset: PairedDataset) -> None:
        self.task, self.store, self.dataset = task, store, dataset
        self.protocol = PROTOCOLS[task.protocol]
        self.split = split_rows(dataset.n, task.alpha, random_state=task.seed)
        self.kinds = relevance_kinds(dataset)
        self._cache: dict[str, Any] = {}

    def _once(self, name: str, make: Any) -> Any:
        if name not in self._cache:
            self._cache[name] = make()
        return self._cache[name]

    def training(self, trained_on: str) -> tuple[TrainingViews, Any, Any]:
        """Views, training rows and unpaired source rows of a fit."""
        views: TrainingViews = self._once("views", self._pair_views)
        rest = self.split.rest
        if trained_on == "all":
            if self.protocol.fit_on == "train":
                views = self._once("all views", lambda: refit_target(self.dataset, self.split, views))
            return views, database_rows(self.split, "all"), views.source_only
        unpaired = views.source[rest]
        if views.source_only is not None:
            unpaired = np.vstack([unpaired, views.source_only])
        return views, self.split.train, unpaired

    def _pair_views(self) -> TrainingViews:
        return self._evaluation() if self.protocol.fit_on == "all" else training_views(self.dataset, self.split)

    def _evaluation(self) -> TrainingViews:
        views: TrainingViews = self._once(
            "evaluation", lambda: evaluation_views(self.dataset, self.task.identity, self.store)
        )
        return views

    def parameters(self, run: MethodRun) -> dict[str, float]:
        """The parameters of a run: its own, or those selected on the training pairs."""
        if not run.selected:
            return dict(run.parameters)
        chosen = self.selected(run.bits)["parameters"][run.method]
        return {name: chosen[name] for name in tunable(run.method)}

    def fit(self, run: MethodRun, parameters: dict[str, float]) -> BaseHasher:
        """Fit one method on the training rows of a run."""
        views, rows, unpaired = self.training(run.trained_on)
        hasher = HASHERS[run.method](n_bits=run.bits, random_state=self.task.seed, **parameters)
        return hasher.fit(views.target[rows], privileged=views.source[rows], source=unpaired)

    def relevance(self, kind: str) -> Any:
        """Ground truth of one kind."""

        def make() -> Any:
            views, data = self._evaluation(), self.dataset
            return relevance_matrix(
                kind, self.protocol, self.split, target=views.target, source=views.source,
                labels=data.labels, tags=data.tags, random_state=self.task.seed,
            )  # fmt: skip

        return self._once(f"relevance {kind}", make)

    def selected(self, bits: int) -> dict[str, Any]:
        """Parameters chosen on the training pairs; kept on disk with all scores."""
        config = self.task.selection_config(bits)
        kept = self.store.read_values("selections", config)
        if kept is None:
            views, rows, unpaired = self.training("pairs")
            share = NEIGHBOURS / len(database_rows(self.split, self.protocol.database))
            start = time.perf_counter()
            chosen = select_lambdas(
                views.target[rows], views.source[rows], unpaired, n_bits=bits,
                relevant_share=min(share, 0.99), rule=self.task.selection, random_state=self.task.seed,
            )  # fmt: skip
            seconds = time.perf_counter() - start
            kept = {"parameters": chosen.parameters, "scores": chosen.scores, "seconds": seconds}
            self.store.write_values("selections", config, kept)
        answer: dict[str, Any] = kept
        return answer


def _measure(codes: Any, relevance: Any, split: Split, protocol: Protocol, bits: int) -> tuple[Any, Any]:
    """Means for the tables and figures, and the figures of every query."""
    queries, database = codes[split.query], codes[database_rows(split, protocol.database)]
    cuts = [k for k in PRECISION_AT if k <= len(database)]
    ap = average_precision(queries, database, relevance, bits)
    precision = precision_at_k(queries, database, relevance, bits, cuts)
    mean = query_mean(ap)
    means = {
        "average_precision": mean.value,
        "n_queries": mean.n_queries,
        "n_empty": mean.n_empty,
        "n_database": len(database),
        "mean_relevant": float(np.asarray(relevance).sum() / len(queries)),
        "pooled_precision_recall_area": pooled_precision_recall_area(queries, database, relevance, bits),
        "precision_at": dict(zip(map(str, cuts), precision.mean(axis=0).tolist(), strict=True)),
    }
    return means, {"average_precision": ap, "precision_at": precision.astype(np.float32)}
