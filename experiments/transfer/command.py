"""``python -m experiments transfer``: run the transfer benchmark, or what is missing, and write the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Optional, TypeVar

import typer

from experiments.harness.report import produce
from experiments.harness.store import ResultStore
from experiments.transfer.page import TransferReport
from experiments.transfer.results import TransferResults
from experiments.transfer.settings import full_settings, quick_settings, transfer_tasks
from experiments.transfer.task import forget

# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
# ruff: noqa: UP045

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
    splits: Annotated[Optional[int], typer.Option("--splits", help="Splits per setting. Default: 5.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Bundled digits, 1,000 rows, 2 splits, 16 bits.")] = False,
    again: Annotated[
        Optional[list[str]],
        typer.Option("--again", metavar="A,B", help="Lines to run again, for instance auto,auto_shuffled."),
    ] = None,
    results: Annotated[Path, typer.Option("--results", help="Folder where results are kept.")] = Path("results"),
    output: Annotated[
        Optional[Path],
        typer.Option("--output", help="Folder for tables, figures and the page. Default: in the results folder."),
    ] = None,
    jobs: Annotated[Optional[int], typer.Option("--jobs", help="Processes. Default: one per core.")] = None,
    data_home: Annotated[Optional[Path], typer.Option("--data-home", help="Folder of the data sets.")] = None,
) -> None:
    """Does the source help? All sets, three meanings of relevant, both reference lines, a control.

    Values are separated by commas. An interrupted run goes on where it stopped;
    once all results exist, a run takes seconds and writes the same files.

    \b
    Examples:
      python -m experiments transfer --quick
      python -m experiments transfer --sets bbc,wikipedia --alphas .1
      python -m experiments transfer --data-home DIR --output docs/transfer
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
    if jobs is not None and jobs < 1:
        raise ValueError(f"--jobs {jobs!r} must be a positive integer.")
    home = None if data_home is None else str(data_home)
    settings = quick_settings(**changes) if quick else full_settings(**changes)
    tasks, store = transfer_tasks(settings, home), ResultStore(results)
    forget(tasks, store, _values("--again", again or [], str))
    produce(
        TransferReport(),
        tasks,
        lambda tasks, store: TransferResults(settings, tasks, store),
        store,
        output or results / "transfer-report",
        data_home=home,
        workers=jobs,
    )


def _values(option: str, given: list[str], read: Callable[[str], Value]) -> tuple[Value, ...]:
    """Read values separated by commas, each once."""
    words = [word.strip() for text in given for word in text.split(",") if word.strip()]
    try:
        return tuple(dict.fromkeys(read(word) for word in words))
    except ValueError:
        raise ValueError(f"{option} {','.join(given)!r} must be numbers separated by commas.") from None
