"""``thpi paper``: run the paper's experiments, or what is missing of them, and write what came out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from thpi.evaluation import Task
    from thpi.paper.experiments import Settings

# typer reads annotations at run time, on Python 3.10 too: Optional and List as it knows them.

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Table 1 and Figures 1-3 of the paper, on real data."
)

_EXPERIMENTS = ("table1", "figure1", "figure2", "figure3")

Datasets = Annotated[Optional[list[str]], typer.Option("--dataset", help="Data set; may be repeated.")]
Bits = Annotated[Optional[list[int]], typer.Option("--bits", help="Code length of Table 1; may be repeated.")]
Protocols = Annotated[
    Optional[list[str]], typer.Option("--protocol", help="authors or standard; may be repeated. Default: both.")
]
Alphas = Annotated[
    Optional[list[float]],
    typer.Option("--alpha", help="Alpha of Figure 1; may be repeated. A single one holds for all."),
]
Splits = Annotated[Optional[int], typer.Option("--splits", help="Splits a data set. Default: 10, large sets 5.")]
Quick = Annotated[bool, typer.Option("--quick", help="Digits, and BBC if it is there: 2 splits, short codes.")]
MaxRows = Annotated[Optional[int], typer.Option("--max-rows", help="Rows kept of the large sets. Default: 3000.")]
Search = Annotated[str, typer.Option("--search", help="Search for lambda1 and lambda2: coordinate or full.")]
ResultsFolder = Annotated[Path, typer.Option("--results", help="Folder where results are kept.")]
Output = Annotated[Optional[Path], typer.Option("--output", help="Folder for tables, figures and the page.")]
Workers = Annotated[Optional[int], typer.Option("--workers", help="Processes. Default: one a core.")]
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
        run_paper(experiments, settings, results, output or results / "report", workers, data_home)

    command.__name__ = name
    command.__doc__ = (
        "Table 1 and all figures, and one page about them."
        if name == "all"
        else f"{name[:-1].capitalize()} {name[-1]} of the paper."
    )
    return command


for _name in _EXPERIMENTS:
    app.command(_name)(_command(_name, (_name,)))
app.command("all")(_command("all", _EXPERIMENTS))


def _settings(
    names: tuple[str, ...], quick: bool, search: str, changes: dict[str, Any], data_home: Path | None
) -> Settings:
    from dataclasses import replace

    from thpi import datasets
    from thpi.paper.experiments import full_settings, quick_settings

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


def run_paper(
    experiments: tuple[str, ...],
    settings: Settings,
    folder: Path,
    output: Path,
    workers: int | None,
    data_home: Path | None,
) -> None:
    """Run what is missing, print Table 1 and the claims, and write all files."""
    from rich.console import Console

    from thpi.evaluation import ResultStore, pending_tasks
    from thpi.paper.claims import judge_claims
    from thpi.paper.experiments import tasks_of
    from thpi.paper.output import write_output
    from thpi.paper.results import Results
    from thpi.paper.tables import table_cells
    from thpi.paper.terminal import print_cells, print_verdicts

    console = Console()
    home = None if data_home is None else str(data_home)
    tasks = tasks_of(experiments, settings, home)
    store = ResultStore(folder)
    todo = pending_tasks(tasks, store)
    if todo:
        _run_with_progress(console, todo, store, home, workers)
    results = Results(settings, tasks, store)
    if "table1" in experiments:
        for protocol in results.protocols:
            print_cells(console, table_cells(results, protocol))
            print_verdicts(console, [verdict.sentence for verdict in judge_claims(results, protocol)])
    files = write_output(results, experiments, output)
    console.print(f"{len(files)} files in {output}", highlight=False)


def _run_with_progress(
    console: Console, todo: list[Task], store: Any, data_home: str | None, workers: int | None
) -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from thpi.evaluation import run_tasks

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("fits", total=sum(len(task.runs) for task in todo))

        def done(task: Task) -> None:
            text = f"{task.data.name}, {task.protocol}, alpha {task.alpha:g}"
            progress.update(bar, advance=len(task.runs), description=text)

        try:
            run_tasks(todo, store, data_home=data_home, workers=workers, on_done=done)
        except KeyboardInterrupt:
            progress.stop()
            console.print("stopped; finished results are kept, and the same command goes on from there")
            raise typer.Exit(130) from None
