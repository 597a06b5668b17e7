"""What Table 1 and Figures 1 to 3 consist of."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from experiments.harness.data import DataSpec, check_grid, data_identity
from experiments.harness.protocol import PROTOCOLS
from experiments.paper.published import METHOD_TITLES
from experiments.paper.runs import MethodRun
from experiments.paper.selection import LAMBDA_GRID, SelectionRule
from experiments.paper.sets import SETS, paper_set
from experiments.paper.task import PaperTask

METHODS = tuple(METHOD_TITLES)
"""The paper's six methods, then ITQ and Spectral Hashing beside them."""

EXPERIMENTS = ("table1", "figure1", "figure2", "figure3")

SWEEP_FIXED = 0.01


@dataclass(frozen=True)
class Settings:
    """What is run: data sets, protocols, code lengths and the number of splits (seeds 0, 1, ...).

    ``table_alpha`` is the alpha of Table 1 and Figures 2 and 3; ``figure_bits`` the code length of the figures.
    ``max_rows`` bounds the rows of every set.
    """

    datasets: tuple[str, ...] = tuple(SETS)
    protocols: tuple[str, ...] = ("paper",)
    bits: tuple[int, ...] = (8, 16, 32, 64)
    alphas: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7)
    table_alpha: float = 0.5
    figure_bits: int = 32
    splits: int = 10
    max_rows: int | None = None
    grid: tuple[float, ...] = LAMBDA_GRID
    selection: SelectionRule = SelectionRule()  # noqa: RUF009 - frozen
    quick: bool = False

    def data(self, dataset: str) -> DataSpec:
        """The rows of a data set."""
        return paper_set(dataset).sampled(self.max_rows)

    @property
    def sweep_protocols(self) -> tuple[str, ...]:
        """Figure 3 is run under the first protocol only."""
        return self.protocols[:1]

    def n_sweep_splits(self, dataset: str) -> int:
        """Number of splits of Figure 3, whose fits are many: three, and one for the large sets."""
        return min(1 if self.quick or paper_set(dataset).info.large else 3, self.splits)


def quick_settings(datasets: tuple[str, ...] = ("digits",), **changes: Any) -> Settings:
    """Return settings that run in a minute or two: 1,000 rows, 2 splits, 8 and 16 bits, small selection.

    >>> quick_settings().bits
    (8, 16)
    """
    settings = Settings(
        datasets,
        bits=(8, 16),
        alphas=(0.1, 0.5),
        figure_bits=16,
        splits=2,
        max_rows=1_000,
        grid=(0.0, 0.01, 2.0),
        selection=SelectionRule(grid=(0.0, 0.01, 0.1), n_folds=2, max_pairs=200, max_iter=10),
        quick=True,
    )
    return replace(settings, **changes)


def reference_runs(dataset: str, bits: int) -> tuple[MethodRun, ...]:
    """Runs behind the line "all target data": ITQ, and on the smaller sets LapITQ+ too.

    >>> [run.label for run in reference_runs("bbc", 8)]
    ['ITQ (all target data)', 'LapITQPlus (all target data)']
    """
    methods = ("ITQ",) if paper_set(dataset).info.large else ("ITQ", "LapITQPlus")
    return tuple(MethodRun(method, bits, "all") for method in methods)


def runs_of(dataset: str, bits: int) -> tuple[MethodRun, ...]:
    """All methods at one code length, CCA-ITQ and CVH with a tuned ridge too, then the reference runs."""
    tuned = (MethodRun(method, bits, tuned=True) for method in ("CCAITQ", "CVH"))
    return (*(MethodRun(method, bits) for method in METHODS), *tuned, *reference_runs(dataset, bits))


def sweep_runs(settings: Settings) -> dict[str, tuple[MethodRun, ...]]:
    """Runs of Figure 3, by the parameter that is varied; the other is .01."""

    def run(**parameters: float) -> MethodRun:
        return MethodRun("LapITQPlus", settings.figure_bits, parameters=tuple(sorted(parameters.items())))

    return {
        "lambda1": tuple(run(lambda1=value, lambda2=SWEEP_FIXED) for value in settings.grid),
        "lambda2": tuple(run(lambda1=SWEEP_FIXED, lambda2=value) for value in settings.grid),
    }


def _cells(experiment: str, settings: Settings, dataset: str) -> Iterable[tuple[float, int, MethodRun]]:
    """Every (alpha, split, run) that an experiment needs of one data set."""
    if experiment == "figure3":
        for seed in range(settings.n_sweep_splits(dataset)):
            for run in {run for runs in sweep_runs(settings).values() for run in runs}:
                yield settings.table_alpha, seed, run
            # The reference lines are part of this figure too.
            for run in (MethodRun("ITQ", settings.figure_bits), *reference_runs(dataset, settings.figure_bits)):
                yield settings.table_alpha, seed, run
        return
    lengths = settings.bits if experiment == "table1" else (settings.figure_bits,)
    alphas = settings.alphas if experiment == "figure1" else (settings.table_alpha,)
    for alpha in alphas:
        for seed in range(settings.splits):
            for bits in lengths:
                for run in runs_of(dataset, bits):
                    yield alpha, seed, run


def tasks_of(
    experiments: Iterable[str], settings: Settings, data_home: str | os.PathLike[str] | None = None
) -> list[PaperTask]:
    """Return all work of some experiments, one task per split; a run that several experiments need is done once.

    Unknown data sets, missing or altered files and unfit settings raise here, before anything runs.

    >>> tasks = tasks_of(["table1"], quick_settings())
    >>> len(tasks), len(tasks[0].runs)
    (2, 24)
    """
    check_grid((*settings.alphas, settings.table_alpha), (*settings.bits, settings.figure_bits), settings.splits)
    for protocol in settings.protocols:
        if protocol not in PROTOCOLS:
            raise ValueError(f"protocol={protocol!r} must be one of {', '.join(PROTOCOLS)}.")
    wanted = list(experiments)
    for name in wanted:
        if name not in EXPERIMENTS:
            raise ValueError(f"experiment={name!r} must be one of {', '.join(EXPERIMENTS)}.")
    identities = {name: data_identity(settings.data(name), data_home) for name in settings.datasets}
    runs: dict[tuple[str, str, float, int], dict[MethodRun, None]] = {}
    for dataset in settings.datasets:
        for protocol in settings.protocols:
            for experiment in wanted:
                if experiment == "figure3" and protocol not in settings.sweep_protocols:
                    continue
                for alpha, seed, run in _cells(experiment, settings, dataset):
                    runs.setdefault((dataset, protocol, alpha, seed), {})[run] = None
    tasks = [
        PaperTask(
            dataset,
            settings.data(dataset),
            protocol,
            alpha,
            seed,
            _ordered(found),
            identities[dataset],
            settings.selection,
        )
        for (dataset, protocol, alpha, seed), found in runs.items()
    ]
    # Split after split, so that an early stop leaves whole splits of every set; the longest of a split first.
    return sorted(tasks, key=lambda task: (task.seed, not paper_set(task.dataset).info.large, -len(task.runs)))


def _ordered(runs: Iterable[MethodRun]) -> tuple[MethodRun, ...]:
    def place(run: MethodRun) -> tuple[object, ...]:
        return run.bits, METHODS.index(run.method), run.tuned, run.trained_on, run.parameters

    return tuple(sorted(runs, key=place))
