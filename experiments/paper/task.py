"""One split of one data set: fit what is asked for, keep the codes, measure them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import thpi
from experiments.harness.area import pooled_precision_recall_area
from experiments.harness.bench import Bench, make_bench
from experiments.harness.data import DataSpec, load_rows
from experiments.harness.protocol import NEIGHBOURS, PROTOCOLS
from experiments.harness.store import ResultStore, config_key
from experiments.paper.runs import TUNED, MethodRun
from experiments.paper.selection import SelectionRule, select_lambdas, select_ridge
from thpi.base import BaseHasher, TooManyBitsError
from thpi.evaluation import average_precision, precision_at_k, query_mean

PRECISION_AT = (1, 10, 20, 30, 40, 50, *range(100, 501, 50))
"""The paper's K for precision at K."""

_TOGETHER = ("ITQPlus", "LapITQPlus")


@dataclass(frozen=True)
class PaperTask:
    """All fits of one split: the unit of work that is given to a process."""

    dataset: str
    data: DataSpec
    protocol: str
    alpha: float
    seed: int
    runs: tuple[MethodRun, ...]
    identity: dict[str, Any] = field(compare=False)
    selection: SelectionRule = field(default_factory=SelectionRule)

    @property
    def split_config(self) -> dict[str, Any]:
        """What the results of this split depend on besides the method."""
        return {
            "thpi": thpi.__version__,
            "data": self.identity,
            "fit_on": PROTOCOLS[self.protocol].fit_on,
            "dtype": PROTOCOLS[self.protocol].dtype,
            "alpha": self.alpha,
            "seed": self.seed,
        }

    def selection_config(self, run: MethodRun) -> dict[str, Any]:
        """What the choice of parameters depends on; lambda1 and lambda2 of ITQ+ and LapITQ+ are chosen together."""
        methods = _TOGETHER if run.method in _TOGETHER else (run.method,)
        defaults = {method: MethodRun(method, run.bits, tuned=run.tuned).to_dict() for method in methods}
        rule = {**self.selection.to_dict(), "database": PROTOCOLS[self.protocol].database}
        return {**self.split_config, "selection": rule, "methods": defaults}

    def fit_config(self, run: MethodRun) -> dict[str, Any]:
        """What a fit depends on."""
        base = self.selection_config(run) if run.selected else self.split_config
        return {**base, **run.to_dict()}

    @property
    def measure_config(self) -> dict[str, Any]:
        """What the measures of this split depend on; in the file, results have the keys of their fits."""
        return {**self.split_config, "protocol": self.protocol}

    @property
    def label(self) -> str:
        """What is shown while tasks run."""
        return f"{self.dataset}, {self.protocol}, alpha {self.alpha:g}, split {self.seed}"

    def left(self, store: ResultStore) -> int:
        """Number of runs without a result."""
        return len(set(self.runs)) - len(measured(self, store))

    def run(self, store: ResultStore, data_home: str | None = None) -> None:
        """Fit and measure all runs that have no result yet; every fit is kept as soon as it is done."""
        done = measured(self, store)
        missing = [run for run in self.runs if run not in done]
        if not missing:
            return
        values = store.read_values("measures", self.measure_config) or {}
        per_query = store.read_arrays("queries", self.measure_config) or {}
        bench = self.bench(store, data_home)
        for run in missing:
            key = config_key(self.fit_config(run))
            try:
                values[key], queries = _result(Fitter(self, bench, store), run)
            except TooManyBitsError as error:
                # The method cannot give this many bits on these data: an empty cell, with the reason.
                values[key] = {"run": run.label, "bits": run.bits, "unavailable": str(error)}
                continue
            per_query |= {f"{key}.{name}": value for name, value in queries.items()}
        # The arrays first: where there are values, there are arrays.
        store.write_arrays("queries", self.measure_config, per_query)
        store.write_values("measures", self.measure_config, values)

    def bench(self, store: ResultStore, data_home: str | None = None) -> Bench:
        """Return the rows, views and ground truths of the split."""
        dataset = load_rows(self.data, data_home)
        protocol, pipelines = PROTOCOLS[self.protocol], self.data.pipelines()
        return make_bench(dataset, protocol, self.alpha, self.seed, self.identity, store, pipelines)


def measured(task: PaperTask, store: ResultStore) -> dict[MethodRun, dict[str, Any]]:
    """Return what is known of the runs of a task; runs without a result are left out."""
    values = store.read_values("measures", task.measure_config) or {}
    keys = {run: config_key(task.fit_config(run)) for run in task.runs}
    return {run: values[key] for run, key in keys.items() if key in values}


@dataclass
class Fitter:
    """The fits of a task on its bench."""

    task: PaperTask
    bench: Bench
    store: ResultStore

    def codes(self, run: MethodRun) -> dict[str, Any]:
        """Return the codes of all rows under one method, from disk or from a new fit."""
        config = self.task.fit_config(run)
        kept = self.store.read_arrays("fits", config)
        if kept is None:
            parameters = self.parameters(run)
            target = self.bench.training(run.trained_on).target
            start = time.perf_counter()
            hasher = self.fit(run, parameters)
            kept = {
                "codes": hasher.transform(target),
                "training_codes": hasher.codes_,
                "seconds": np.array(time.perf_counter() - start),
                "parameter_names": np.array(sorted(parameters), dtype=str),
                "parameter_values": np.array([parameters[name] for name in sorted(parameters)], dtype=np.float64),
            }
            self.store.write_arrays("fits", config, kept)
        names, numbers = kept["parameter_names"].tolist(), kept["parameter_values"].tolist()
        parameters = dict(zip(names, numbers, strict=True))
        return {"codes": kept["codes"], "seconds": float(kept["seconds"]), "parameters": parameters}

    def fit(self, run: MethodRun, parameters: dict[str, float]) -> BaseHasher:
        """Fit one method on the training rows of a run."""
        target, rows, S, unpaired = self.bench.training(run.trained_on)
        hasher: BaseHasher = run.hasher(random_state=self.task.seed, **parameters)
        return hasher.fit(target[rows], privileged=S, source=unpaired)

    def parameters(self, run: MethodRun) -> dict[str, float]:
        """The parameters of a run: its own, or those selected on the training pairs."""
        if not run.selected:
            return dict(run.parameters)
        chosen = self._selected(run)["parameters"][run.method]
        return {name: chosen[name] for name in TUNED[run.method]}

    def _selected(self, run: MethodRun) -> Any:
        """Parameters selected on the training pairs; kept on disk with all scores."""
        config = self.task.selection_config(run)
        kept = self.store.read_values("selections", config)
        if kept is None:
            target, rows, S, unpaired = self.bench.training()
            share = min(NEIGHBOURS / len(self.bench.database), 0.99)
            rule = {"rule": self.task.selection, "random_state": self.task.seed}
            options: dict[str, Any] = {"relevant_share": share, **rule}
            start = time.perf_counter()
            if run.method in _TOGETHER:
                chosen = select_lambdas(target[rows], S, unpaired, n_bits=run.bits, **options)
            else:
                chosen = select_ridge(target[rows], S, method=run.method, n_bits=run.bits, **options)  # type: ignore[arg-type]
            seconds = time.perf_counter() - start
            kept = {"parameters": chosen.parameters, "scores": chosen.scores, "seconds": seconds}
            self.store.write_values("selections", config, kept)
        return kept


def _result(fitter: Fitter, run: MethodRun) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is kept of a run, and what is kept of each query."""
    bench, fitted = fitter.bench, fitter.codes(run)
    entry = {
        "run": run.label,
        "bits": run.bits,
        "parameters": fitted["parameters"],
        "seconds": fitted["seconds"],
        "measures": {},
        "n_rows": bench.dataset.n,
        "n_train": len(bench.split.train),
    }
    per_query: dict[str, Any] = {}
    for kind in bench.kinds:
        entry["measures"][kind], queries = _measure(fitted["codes"], bench, kind, run.bits)
        per_query |= {f"{kind}.{name}": value for name, value in queries.items()}
    return entry, per_query


def _measure(codes: Any, bench: Bench, kind: str, bits: int) -> tuple[Any, Any]:
    """Means for the tables and figures, and the figures of every query."""
    queries, database, relevance = codes[bench.split.query], codes[bench.database], bench.relevance(kind)
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
