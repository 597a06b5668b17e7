"""Output of the commands: checks of output files, interrupts, progress, results as text or JSON."""

from __future__ import annotations

import _thread
import json
import math
import os
import shutil
import signal
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import typer

from thpi._optional import require_extra

Facts: TypeAlias = "dict[str, Any]"

_LEAST_FREE = 2**20  # models and pages are larger than a few bytes


def check_output(
    argument: str, path: Path, *, force: bool, inputs: Sequence[Path | str | None] = (), extra: str | None = None
) -> None:
    """Refuse an output before any work is done: if it exists, is one of the inputs, or cannot be written.

    ``extra`` is the extra that writing it needs.
    """
    from thpi.tables import split_spec

    if not path.parent.is_dir():
        raise ValueError(f"{argument}={str(path)!r}: the folder {str(path.parent)!r} does not exist.")
    if path.is_dir():
        raise ValueError(f"{argument}={str(path)!r} is a folder; it must be a file.")
    if path.exists():
        files = [split_spec(str(source))[0] for source in inputs if source is not None]
        if any(file.exists() and os.path.samefile(path, file) for file in files):
            raise ValueError(f"{argument}={str(path)!r} is also an input of this command; name another file.")
        if not force:
            raise ValueError(f"{argument}={str(path)!r} exists already; --force replaces it.")
    if extra is not None:
        require_extra(extra)
    check_writable(argument, path, path.parent)


def check_writable(argument: str, path: Path, folder: Path) -> None:
    """Refuse an output whose folder takes no files, or has too little space."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(f"{argument}={str(path)!r} cannot be written: {error.strerror or error}.") from None
    if (free := shutil.disk_usage(folder).free) < _LEAST_FREE:
        raise ValueError(f"{argument}={str(path)!r} cannot be written: {free:,} bytes are free there.")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM while an output gets its name, so that all of it is there or nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[signal.Signals] = []
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # in the background of a script, say: it stays ignored
            before[number] = signal.signal(number, lambda number, _: arrived.append(signal.Signals(number)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)


def resend_lost_interrupts() -> None:
    """Send an interrupt that could not be caught again, a moment later; for the entry point of a program.

    In a callback of the garbage collector, of a weak reference (the import system has some) or at exit, no code can
    catch ``KeyboardInterrupt``: Python prints a traceback, and the command continues as if nothing had been pressed.
    """
    report = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            report(unraisable)
        elif not sys.is_finalizing():  # else the work is done, and no thread can be started any more
            # From another thread: sent from here, it would be raised in this hook, and be lost once more.
            # 0.01 seconds are long enough to be out of the callback, and too short to be noticed.
            again = threading.Timer(0.01, _interrupt_main)
            again.daemon = True
            again.start()

    sys.unraisablehook = hook


def _interrupt_main() -> None:
    main = threading.main_thread().ident
    if main is None or not hasattr(signal, "pthread_kill"):  # pragma: no cover - Windows
        _thread.interrupt_main()
    else:
        signal.pthread_kill(main, signal.SIGINT)  # a real signal ends a system call that waits, too


def show(as_json: bool, facts: Facts) -> None:
    """Print facts as one line of JSON, or as a list of names and values without those that are None."""
    if as_json:
        typer.echo(json.dumps(plain(facts), allow_nan=False))
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        if value is not None:
            text = _text(value)
            # Not paths: a sentence has spaces.
            long = isinstance(value, Mapping) or text.count(" ") > 5
            lines = textwrap.wrap(text, 76 - width, break_long_words=False) if long else [text]
            typer.echo(f"  {name.replace('_', ' '):{width}}  " + f"\n{'':{width + 4}}".join(lines))


def printable(text: str) -> str:
    r"""Write control characters out, which a terminal would obey.

    >>> printable("caf\u00e9 \x1b[2J")
    'café \\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else printable(str(value))


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; NaN and infinities become null.

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


def write_page(path: Path, found: Any, as_json: bool) -> None:
    """Write the page of a result; the caller has printed the result, so that it is not lost if this fails."""
    from thpi._files import atomic_write

    page = found.to_html()
    with uninterrupted():
        atomic_write(path, page)
    if not as_json:
        typer.echo(f"\npage: {path}")


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> None:
    """Print a table; the columns ``numbers`` are aligned to the right, and names in the first are not broken."""
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(*(Column(title, justify="right" if title in numbers else "left") for title in titles))
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*row)
    Console().print(table)


@contextmanager
def progress_bar(text: str, *columns: str) -> Iterator[Callable[..., None]]:
    """Show a bar, by default with the time, on standard error if it is a terminal; yield the function to update it.

    ``columns`` are texts, or names of columns of ``rich.progress``, such as "TimeRemainingColumn".
    """
    if not sys.stderr.isatty():
        yield lambda **_: None  # rich takes as long to import as many a command takes to run
        return
    from rich import progress as rich
    from rich.console import Console

    named = [getattr(rich, each)() if hasattr(rich, each) else each for each in columns or ["TimeElapsedColumn"]]
    shown: tuple[str | rich.ProgressColumn, ...] = ("{task.description}", rich.BarColumn(), *named)
    with rich.Progress(*shown, console=Console(stderr=True), transient=True) as progress:
        yield partial(progress.update, progress.add_task(text, total=None, rows=0))
