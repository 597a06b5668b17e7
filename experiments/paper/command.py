"""``python -m experiments paper``: run the paper's experiments, or what is missing, and write the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from experiments import datasets
from experiments.harness.protocol import PROTOCOLS
from experiments.harness.report import DataHome, Output, ResultsFolder, produce
from experiments.harness.store import ResultStore
from experiments.paper.page import PaperReport
from experiments.paper.results import Results
from experiments.paper.settings import EXPERIMENTS, Settings, quick_settings, tasks_of

# typer reads annotations at run time, on Python 3.10 too: Optional and List as it knows them.
# ruff: noqa: UP045


Words = Optional[list[str]]
Number = Optional[int]


def paper(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="table1, figure1, figure2, figure3 or all.")],
    dataset: Annotated[Words, typer.Option("--dataset", help="Data set; may be repeated.")] = None,
    bits: Annotated[Optional[list[int]], typer.Option("--bits", help="Length of Table 1; may be repeated.")] = None,
    protocol: Annotated[
        Words, typer.Option("--protocol", help=f"{', '.join(PROTOCOLS)}; may be repeated. Default: paper.")
    ] = None,
    alpha: Annotated[
        Optional[list[float]],
        typer.Option("--alpha", help="Alpha of Figure 1; may be repeated. A single one holds for all."),
    ] = None,
    splits: Annotated[Number, typer.Option("--splits", help="Splits per data set. Default: 10.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Digits, and BBC if its files exist: 2 splits, short codes.")
    ] = False,
    max_rows: Annotated[Number, typer.Option("--max-rows", help="Rows kept of every set. Default: all.")] = None,
    search: Annotated[
        str, typer.Option("--search", help="Search for lambda1 and lambda2: coordinate or full.")
    ] = "coordinate",
    finished: Annotated[
        bool, typer.Option("--finished", help="Run nothing; report the splits that are finished.")
    ] = False,
    results: ResultsFolder = Path("results"),
    output: Output = None,
    workers: Annotated[Number, typer.Option("--workers", help="Processes. Default: one per core.")] = None,
    data_home: DataHome = None,
) -> None:
    """Table 1 and Figures 1-3 of the paper, on real data, and one page about them."""
    experiments = EXPERIMENTS if what == "all" else (what,)
    given = {"bits": bits, "protocols": protocol, "alphas": alpha}
    changes: dict[str, Any] = {key: tuple(value) for key, value in given.items() if value}
    changes |= {k: v for k, v in {"splits": splits, "max_rows": max_rows}.items() if v is not None}
    if alpha and len(alpha) == 1:
        changes["table_alpha"] = alpha[0]
    settings = _settings(tuple(dataset or ()), quick, search, changes, data_home)
    store, tasks = ResultStore(results), tasks_of(experiments, settings, data_home)
    produce(
        PaperReport(),
        [task for task in tasks if not task.left(store)] if finished else tasks,
        lambda tasks, store: Results(settings, tasks, store, experiments),
        store,
        output or results / "report",
        data_home=data_home,
        workers=workers,
    )


def _settings(
    names: tuple[str, ...], quick: bool, search: str, changes: dict[str, Any], data_home: Path | None
) -> Settings:
    if search not in ("coordinate", "full"):
        raise ValueError(f"search={search!r} must be 'coordinate' or 'full'.")
    if quick and not names:
        there = "missing" not in datasets.verify("bbc", data_home).values()
        names = ("digits", "bbc") if there else ("digits",)
    settings = quick_settings(**changes) if quick else Settings(**changes)
    if names:
        settings = replace(settings, datasets=tuple(dict.fromkeys(names)))
    return replace(settings, selection=replace(settings.selection, search=search))  # type: ignore[arg-type]
