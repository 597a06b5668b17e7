"""``thpi transfer``: the transfer benchmark, or what is missing of it, and everything it has to show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console

Value = TypeVar("Value")


def transfer(
    sets: Annotated[
        Optional[list[str]], typer.Option("--sets", metavar="A,B", help="Data sets; default: all ten.")
    ] = None,
    alphas: Annotated[
        Optional[list[str]],
        typer.Option("--alphas", metavar="A,B", help="Shares of rows that are pairs. Default: .05,.1,.3."),
    ] = None,
    bits: Annotated[
        Optional[list[str]], typer.Option("--bits", metavar="A,B", help="Code lengths. Default: 16,32,64.")
    ] = None,
    control_bits: Annotated[
        Optional[list[str]],
        typer.Option(
            "--control-bits",
            metavar="A,B",
            help="Code lengths of the controls and of KernelAutoHasher. Default: the middle one.",
        ),
    ] = None,
    relevances: Annotated[
        Optional[list[str]],
        typer.Option("--relevances", metavar="A,B", help="Meanings of relevant. Default: target,labels,source."),
    ] = None,
    splits: Annotated[Optional[int], typer.Option("--splits", help="Splits a setting. Default: 5.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Bundled digits, 1,000 rows, 2 splits, 16 bits.")] = False,
    again: Annotated[
        Optional[list[str]],
        typer.Option("--again", metavar="A,B", help="Lines to forget and run anew, for instance auto,auto_shuffled."),
    ] = None,
    results: Annotated[Path, typer.Option("--results", help="Folder where results are kept.")] = Path("results"),
    output: Annotated[
        Optional[Path],
        typer.Option("--output", help="Folder for tables, figures and the page. Default: in the results folder."),
    ] = None,
    jobs: Annotated[Optional[int], typer.Option("--jobs", help="Processes. Default: one a core.")] = None,
    data_home: Annotated[Optional[Path], typer.Option("--data-home", help="Folder of the data sets.")] = None,
) -> None:
    """Does the source help? All sets, three meanings of relevant, both reference lines, a control.

    Values are separated by commas. Stopped and started again, the command goes on
    where it was; once all is there, a run takes seconds and writes the same
    files.

    \b
    Examples:
      thpi transfer --quick
      thpi transfer --sets bbc,wikipedia --alphas .1 --bits 32
      thpi transfer --data-home DIR --output docs/transfer
    """
    changes: dict[str, Any] = {}
    for name, given, read in (("sets", sets, str), ("alphas", alphas, float), ("relevances", relevances, str)):
        if given:
            changes[name] = _values(f"--{name}", given, read)
    if bits:
        changes["bits"] = _values("--bits", bits, int)
    if control_bits:
        changes["control_bits"] = _values("--control-bits", control_bits, int)
    if splits is not None:
        changes["splits"] = splits
    folder = output or results / "transfer-report"
    _run(quick, changes, _values("--again", again or [], str), results, folder, jobs, data_home)


def _values(option: str, given: list[str], read: Callable[[str], Value]) -> tuple[Value, ...]:
    """Read values separated by commas, each once."""
    words = [word.strip() for text in given for word in text.split(",") if word.strip()]
    try:
        return tuple(dict.fromkeys(read(word) for word in words))
    except ValueError:
        raise ValueError(f"{option} {','.join(given)!r} must be numbers separated by commas.") from None


def _run(
    quick: bool,
    changes: dict[str, Any],
    again: tuple[str, ...],
    folder: Path,
    output: Path,
    jobs: int | None,
    data_home: Path | None,
) -> None:
    from rich.console import Console

    from thpi.evaluation import ResultStore
    from thpi.transfer_report.output import write_transfer
    from thpi.transfer_report.results import TransferResults
    from thpi.transfer_report.settings import full_settings, quick_settings, transfer_tasks
    from thpi.transfer_report.targets import judge_targets
    from thpi.transfer_report.task import forget
    from thpi.transfer_report.terminal import print_targets, print_transfer

    if jobs is not None and jobs < 1:
        raise ValueError(f"--jobs {jobs!r} must be a positive integer.")
    console = Console()
    home = None if data_home is None else str(data_home)
    settings = quick_settings(**changes) if quick else full_settings(**changes)
    tasks, store = transfer_tasks(settings, home), ResultStore(folder)
    forget(tasks, store, again)
    _run_missing(console, tasks, store, home, jobs)
    found = TransferResults(settings, tasks, store)
    print_transfer(console, found)
    print_targets(console, judge_targets(found))
    files = write_transfer(found, output)
    console.print(f"{len(files)} files in {output}", highlight=False)


def _run_missing(console: Console, tasks: Any, store: Any, data_home: str | None, jobs: int | None) -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from thpi.evaluation import run_all
    from thpi.transfer_report.task import fits_left, run_transfer_task

    todo = dict(fits_left(tasks, store))
    if not todo:
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("fits", total=sum(todo.values()))

        def done(task: Any) -> None:
            text = f"{task.set_name}, alpha {task.alpha:g}, split {task.seed}"
            progress.update(bar, advance=todo[task], description=text)

        try:
            run_all(run_transfer_task, list(todo), store, data_home=data_home, workers=jobs, on_done=done)
        except KeyboardInterrupt:
            progress.stop()
            console.print("stopped; finished results are kept, and the same command goes on from there")
            raise typer.Exit(130) from None
