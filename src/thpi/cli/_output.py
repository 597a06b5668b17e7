"""Output that the commands share: checks of output files, progress, results as text or JSON."""

from __future__ import annotations

import json
import math
import os
import signal
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from thpi.cli._tables import Batch


def check_output(argument: str, path: Path, *, force: bool, inputs: tuple[Any, ...] = ()) -> None:
    """Refuse an output that is there already, is one of the inputs, or has no folder: before any work is done."""
    from thpi.cli._columns import split_spec  # here, for it imports numpy

    if not path.parent.is_dir():
        raise ValueError(f"{argument}={str(path)!r}: the folder {str(path.parent)!r} does not exist.")
    if path.is_dir():
        raise ValueError(f"{argument}={str(path)!r} is a folder; it must be a file.")
    if path.exists():
        files = [split_spec(str(source))[0] for source in inputs if source is not None]
        if any(file.exists() and os.path.samefile(path, file) for file in files):
            raise ValueError(f"{argument}={str(path)!r} is read by this command too; name another file.")
        if not force:
            raise ValueError(f"{argument}={str(path)!r} exists already; --force replaces it.")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C while an output gets its name, so that all of it is there or nothing."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # in the background of a script, say: it stays ignored
    if ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if arrived:
        raise KeyboardInterrupt


def show(as_json: bool, facts: Mapping[str, Any], title: str = "") -> None:
    """Print facts: as one line of JSON, or as a list of names and values (those that are None are left out)."""
    if as_json:
        typer.echo(json.dumps(plain(facts), allow_nan=False))
        return
    if title:
        typer.echo(title)
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        if value is not None:
            lines = textwrap.wrap(_text(value), 76 - width) if isinstance(value, Mapping) else [_text(value)]
            typer.echo(f"  {name.replace('_', ' '):{width}}  " + f"\n{'':{width + 4}}".join(lines))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def plain(value: Any) -> Any:
    """Give what JSON can say of a value; numbers that it cannot (NaN, infinities) become null.

    >>> plain({"a": [1, float("nan")]})
    {'a': [1, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def note(text: str) -> None:
    """Tell something beside the result: on standard error, so that it does not get into a script's data."""
    typer.echo(text, err=True)


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show that something is going on, and for how long; on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(text, total=None)
        yield


@contextmanager
def shown_parts(text: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that is told how many of how many parts are done, and shows it; on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(text, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def shown_progress(text: str, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Pass batches on and show how much of the file is read; on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task, rows = progress.add_task(text, total=1.0, rows=0), 0
        for batch in batches:
            yield batch
            rows += batch.values.shape[0]
            progress.update(task, rows=rows, total=None if batch.done is None else 1.0, completed=batch.done or 0.0)
