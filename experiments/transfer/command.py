"""``python -m experiments transfer``: run the transfer benchmark, or what is missing, and write the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Optional, TypeVar

import typer

from experiments.harness.report import DataHome, Output, ResultsFolder, produce
from experiments.harness.store import ResultStore
from experiments.transfer.page import TransferReport
from experiments.transfer.results import TransferResults
from experiments.transfer.settings import TransferSettings, named_lines, quick_settings, transfer_tasks
from experiments.transfer.task import forget

# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
# ruff: noqa: UP045

Value = TypeVar("Value")
Listed = Optional[list[str]]


def _list(name: str, text: str) -> Any:
    return typer.Option(name, metavar="A,B", help=text)


def transfer(
    sets: Annotated[Listed, _list("--sets", "Data sets; default: all twelve.")] = None,
    alphas: Annotated[Listed, _list("--alphas", "Shares of rows that are pairs. Default: .05,.1,.3.")] = None,
    bits: Annotated[Listed, _list("--bits", "Code lengths. Default: 16,32,64.")] = None,
    control_bits: Annotated[
        Listed,
        _list("--control-bits", "Code lengths of controls and other costly lines. Default: the middle one."),
    ] = None,
    relevances: Annotated[Listed, _list("--relevances", "Meanings of relevant. Default: target,labels,source.")] = None,
    lines: Annotated[
        Listed, _list("--lines", "Lines to run, ITQ always among them; rivals: all rivals. Default: all.")
    ] = None,
    splits: Annotated[Optional[int], typer.Option("--splits", help="Splits per setting. Default: 5.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Bundled digits, 1,000 rows, 2 splits, 16 bits.")] = False,
    again: Annotated[Listed, _list("--again", "Lines to run again, for instance auto,auto_shuffled.")] = None,
    results: ResultsFolder = Path("results"),
    output: Output = None,
    jobs: Annotated[Optional[int], typer.Option("--jobs", help="Processes. Default: one per core.")] = None,
    data_home: DataHome = None,
) -> None:
    """Does the source help? All sets, three meanings of relevant, both reference lines, a control.

    Values are separated by commas. An interrupted run goes on where it stopped;
    once all results exist, a run takes seconds and writes the same files.

    \b
    Examples:
      python -m experiments transfer --quick
      python -m experiments transfer --sets bbc,wikipedia --alphas .1
      python -m experiments transfer --lines auto,auto_unlabelled,rivals --splits 1
      python -m experiments transfer --data-home DIR --output docs/transfer
    """
    changes: dict[str, Any] = {} if splits is None else {"splits": splits}
    for option, given, read in (
        ("--sets", sets, str), ("--alphas", alphas, float), ("--bits", bits, int),
        ("--control-bits", control_bits, int), ("--relevances", relevances, str),
    ):  # fmt: skip
        if given:
            changes[option[2:].replace("-", "_")] = _values(option, given, read)
    if lines:
        changes["lines"] = named_lines(_values("--lines", lines, str))
    if jobs is not None and jobs < 1:
        raise ValueError(f"--jobs {jobs!r} must be a positive integer.")
    settings = quick_settings(**changes) if quick else TransferSettings(**changes)
    tasks, store = transfer_tasks(settings, data_home), ResultStore(results)
    forget(tasks, store, _values("--again", again or [], str))
    produce(
        TransferReport(),
        tasks,
        lambda tasks, store: TransferResults(settings, tasks, store),
        store,
        output or results / "transfer-report",
        data_home=data_home,
        workers=jobs,
    )


def _values(option: str, given: list[str], read: Callable[[str], Value]) -> tuple[Value, ...]:
    """Read values separated by commas, each once."""
    words = [word.strip() for text in given for word in text.split(",") if word.strip()]
    try:
        return tuple(dict.fromkeys(read(word) for word in words))
    except ValueError:
        raise ValueError(f"{option} {','.join(given)!r} must be numbers separated by commas.") from None
