"""What the store knows, by data set, protocol, alpha and method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.harness.protocol import PROTOCOLS, RELEVANCES
from experiments.harness.store import ResultStore
from experiments.paper.runs import MethodRun
from experiments.paper.settings import EXPERIMENTS, Settings
from experiments.paper.task import PaperTask, measured

Floats = npt.NDArray[np.float64]


class Results:
    """Finished results of some tasks of some experiments. All figures are in percent, as in the paper.

    A run counts as unavailable where any of its splits could not be fitted; the reason is kept.
    """

    def __init__(
        self,
        settings: Settings,
        tasks: Sequence[PaperTask],
        store: ResultStore,
        experiments: Sequence[str] = EXPERIMENTS,
    ) -> None:
        self.settings, self.experiments = settings, tuple(experiments)
        self._entries: dict[tuple[str, str, float], dict[MethodRun, list[dict[str, Any]]]] = {}
        for task in sorted(tasks, key=lambda task: task.seed):
            group = self._entries.setdefault((task.dataset, task.protocol, task.alpha), {})
            for run, entry in measured(task, store).items():
                group.setdefault(run, []).append({**entry, "seed": task.seed})

    @property
    def datasets(self) -> tuple[str, ...]:
        """Data sets with results, in the order of the settings."""
        known = {dataset for dataset, _, _ in self._entries}
        return tuple(name for name in self.settings.datasets if name in known)

    @property
    def protocols(self) -> tuple[str, ...]:
        """Protocols with results."""
        known = {protocol for _, protocol, _ in self._entries}
        return tuple(name for name in self.settings.protocols if name in known)

    def alphas(self, dataset: str, protocol: str) -> tuple[float, ...]:
        """Alphas with results."""
        return tuple(sorted(a for d, p, a in self._entries if (d, p) == (dataset, protocol)))

    def kinds(self, dataset: str, protocol: str) -> tuple[str, ...]:
        """Meanings of "relevant" with results."""
        for (name, kind, _), group in self._entries.items():
            if (name, kind) == (dataset, protocol):
                for entries in group.values():
                    if "measures" in entries[0]:
                        return tuple(kind for kind in RELEVANCES if kind in entries[0]["measures"])
        return ()

    def entries(self, dataset: str, protocol: str, alpha: float, run: MethodRun) -> list[dict[str, Any]]:
        """What was kept of each split, and its seed."""
        return self._entries.get((dataset, protocol, alpha), {}).get(run, [])

    def reason(self, dataset: str, protocol: str, alpha: float, run: MethodRun) -> str | None:
        """Why a run has no value; None where it has one or was not run."""
        for entry in self.entries(dataset, protocol, alpha, run):
            if "unavailable" in entry:
                return str(entry["unavailable"])
        return None

    def splits(self, dataset: str, protocol: str, alpha: float, run: MethodRun, kind: str = "target") -> Floats:
        """The protocol's measure by split; empty where the run is unavailable."""
        entries = self.entries(dataset, protocol, alpha, run)
        if not entries or any("unavailable" in e or kind not in e["measures"] for e in entries):
            return np.empty(0)
        return 100 * np.array([entry["measures"][kind][PROTOCOLS[protocol].measure] for entry in entries])

    def mean(self, dataset: str, protocol: str, alpha: float, run: MethodRun, kind: str = "target") -> float | None:
        """Mean over splits, or None."""
        values = self.splits(dataset, protocol, alpha, run, kind)
        return float(values.mean()) if values.size else None

    def precision_splits(self, dataset: str, protocol: str, alpha: float, run: MethodRun) -> Floats:
        """Precision by split and K, in percent, for nearness in target space; empty where the run is unavailable."""
        entries = self.entries(dataset, protocol, alpha, run)
        if not entries or any("unavailable" in entry for entry in entries):
            return np.empty((0, 0))
        curves = [entry["measures"]["target"]["precision_at"] for entry in entries]
        return 100 * np.array([[curve[str(k)] for k in sorted(map(int, curves[0]))] for curve in curves])

    def precision_at(self, dataset: str, protocol: str, alpha: float, run: MethodRun) -> dict[int, float]:
        """Precision at each K, mean over splits."""
        values = self.precision_splits(dataset, protocol, alpha, run)
        if not values.size:
            return {}
        first = self.entries(dataset, protocol, alpha, run)[0]["measures"]["target"]["precision_at"]
        return dict(zip(sorted(map(int, first)), values.mean(axis=0).tolist(), strict=True))

    def facts(self, dataset: str, protocol: str, alpha: float, kind: str = "target") -> dict[str, float]:
        """Sizes of a setting, mean over splits: rows, training rows, queries, database, relevant rows a query."""
        group = self._entries.get((dataset, protocol, alpha), {})
        for entries in group.values():
            if all("measures" in entry for entry in entries):
                names = ("n_queries", "n_database", "mean_relevant", "n_empty")
                facts = {name: float(np.mean([e["measures"][kind][name] for e in entries])) for name in names}
                facts |= {name: float(entries[0][name]) for name in ("n_rows", "n_train")}
                return facts | {"n_splits": float(len(entries))}
        return {}
