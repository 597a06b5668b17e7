"""``python -m experiments paper``: run the paper's experiments, or what is missing, and write the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import typer

from experiments.harness.report import produce
from experiments.harness.store import ResultStore
from experiments.paper.page import PaperReport
from experiments.paper.results import Results
from experiments.paper.settings import EXPERIMENTS, Settings, full_settings, quick_settings, tasks_of
from thpi import datasets

# typer reads annotations at run time, on Python 3.10 too: Optional and List as it knows them.
# ruff: noqa: UP045

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Table 1 and Figures 1-3 of the paper, on real data."
)

Datasets = Annotated[Optional[list[str]], typer.Option("--dataset", help="Data set; may be repeated.")]
Bits = Annotated[Optional[list[int]], typer.Option("--bits", help="Code length of Table 1; may be repeated.")]
Protocols = Annotated[
    Optional[list[str]], typer.Option("--protocol", help="authors or standard; may be repeated. Default: both.")
]
Alphas = Annotated[
    Optional[list[float]],
    typer.Option("--alpha", help="Alpha of Figure 1; may be repeated. A single one holds for all."),
]
Splits = Annotated[Optional[int], typer.Option("--splits", help="Splits per data set. Default: 10, large sets 5.")]
Quick = Annotated[bool, typer.Option("--quick", help="Digits, and BBC if its files exist: 2 splits, short codes.")]
MaxRows = Annotated[Optional[int], typer.Option("--max-rows", help="Rows kept of the large sets. Default: 3000.")]
Search = Annotated[str, typer.Option("--search", help="Search for lambda1 and lambda2: coordinate or full.")]
ResultsFolder = Annotated[Path, typer.Option("--results", help="Folder where results are kept.")]
Output = Annotated[Optional[Path], typer.Option("--output", help="Folder for tables, figures and the page.")]
Workers = Annotated[Optional[int], typer.Option("--workers", help="Processes. Default: one per core.")]
DataHome = Annotated[Optional[Path], typer.Option("--data-home", help="Folder of the data sets.")]


def _command(name: str, experiments: tuple[str, ...]) -> Callable[..., None]:
    def command(
        dataset: Datasets = None,
        bits: Bits = None,
        protocol: Protocols = None,
        alpha: Alphas = None,
        splits: Splits = None,
        quick: Quick = False,
        max_rows: MaxRows = None,
        search: Search = "coordinate",
        results: ResultsFolder = Path("results"),
        output: Output = None,
        workers: Workers = None,
        data_home: DataHome = None,
    ) -> None:
        given = {"bits": bits, "protocols": protocol, "alphas": alpha}
        changes: dict[str, Any] = {key: tuple(value) for key, value in given.items() if value}
        changes |= {k: v for k, v in {"splits": splits, "max_rows": max_rows}.items() if v is not None}
        if alpha and len(alpha) == 1:
            changes["table_alpha"] = alpha[0]
        settings = _settings(tuple(dataset or ()), quick, search, changes, data_home)
        home = None if data_home is None else str(data_home)
        produce(
            PaperReport(),
            tasks_of(experiments, settings, home),
            lambda tasks, store: Results(settings, tasks, store, experiments),
            ResultStore(results),
            output or results / "report",
            data_home=home,
            workers=workers,
        )

    command.__name__ = name
    command.__doc__ = (
        "Table 1 and all figures, and one page about them."
        if name == "all"
        else f"{name[:-1].capitalize()} {name[-1]} of the paper."
    )
    return command


for _name in EXPERIMENTS:
    app.command(_name)(_command(_name, (_name,)))
app.command("all")(_command("all", EXPERIMENTS))


def _settings(
    names: tuple[str, ...], quick: bool, search: str, changes: dict[str, Any], data_home: Path | None
) -> Settings:
    if search not in ("coordinate", "full"):
        raise ValueError(f"search={search!r} must be 'coordinate' or 'full'.")
    if quick and not names:
        there = "missing" not in datasets.verify("bbc", data_home).values()
        names = ("digits", "bbc") if there else ("digits",)
    settings = quick_settings(**changes) if quick else full_settings(**changes)
    if names:
        settings = replace(settings, datasets=tuple(dict.fromkeys(names)))
    full: Literal["coordinate", "full"] = "full" if search == "full" else "coordinate"
    return replace(settings, selection=replace(settings.selection, search=full))
