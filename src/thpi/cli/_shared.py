"""What commands share: options, checks of output files, progress, and results as text, JSON or a page."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, TypeAlias

import typer
from typer import Argument, Option

from thpi._signals import uninterrupted

if TYPE_CHECKING:
    from rich.text import Text as RichText

    from thpi.auto import Relevance
    from thpi.evaluation import Measured

Facts: TypeAlias = "dict[str, Any]"

_LEAST_FREE = 2**20  # models and pages are larger than a few bytes
TABLES = "npy, npz, csv, tsv or parquet"


# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
CollectionFile = Annotated[Path, Argument(metavar="COLLECTION", help="Collection, from thpi build.")]
Data = Annotated[str, Argument(metavar="DATA", help=f"Target rows: {TABLES}.")]
PRIVILEGED = Option("--privileged", metavar="FILE", help="Source rows of the items of DATA: by id, else by position.")
FurtherSource = Annotated[Optional[str], Option(metavar="FILE", help="Further source rows, without a target row.")]
FurtherTarget = Annotated[Optional[str], Option(metavar="FILE", help="Further target rows, without a source row.")]
_LABELS = "Labels: a column of DATA; FILE:COLUMN, by id, else by position; or a file with one line per row."
Labels = Annotated[Optional[str], Option(metavar="COLUMN|FILE", help=_LABELS)]
_ID = "Column of ids, in every table that has it. Default: one called id."
Id = Annotated[Optional[str], Option("--id", "--ids", metavar="COLUMN", help=_ID)]
_ITEM_ID = "Column of ids, in every table that has it, or a file of those of DATA, one per row. Default: one called id."
ItemId = Annotated[Optional[str], Option("--id", "--ids", metavar="COLUMN|FILE", help=_ITEM_ID)]
_IGNORE = "Column that is not a feature, of any table; may be repeated."
Ignore = Annotated[Optional[list[str]], Option(metavar="COLUMN", help=_IGNORE)]
Text = Annotated[Optional[str], Option("--text", metavar="COLUMN", help="Column of DATA with a text to show of items.")]
_PICTURES = "Thumbnails, named after the ids: A-17.webp (png, jpg)."
Pictures = Annotated[Optional[Path], Option("--pictures", metavar="FOLDER", help=_PICTURES)]
Bits = Annotated[int, Option("--bits", min=1, help="Length of a code.")]
Seed = Annotated[int, Option("--seed", min=0, help="Same seed, same result.")]
_HTML = "Write a page with what was found: tables and plots."
Html = Annotated[Optional[Path], Option("--html", metavar="PAGE.html", help=_HTML)]
Force = Annotated[bool, Option("--force", help="Replace an existing output.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON, for scripts.")]


def names_of(module: str, registry: str) -> Callable[[], list[str]]:
    """Return a completion: the names in a registry of a module, which is imported only then."""
    return lambda: list(getattr(import_module(module), registry))


def meaning_of(name: str, labels: str | None, privileged: object) -> Relevance:
    """Return what relevant means, by its name; refuse one that needs what is not given."""
    from thpi import RELEVANCES

    if name not in RELEVANCES:
        raise ValueError(f"--relevance {name!r} must be one of {', '.join(RELEVANCES)}.")
    meaning = RELEVANCES[name]
    if meaning.needs_labels and labels is None:
        raise ValueError(f"--relevance {name} needs --labels.")
    if meaning.needs_source and privileged is None:
        raise ValueError(f"--relevance {name} needs --privileged.")
    return meaning


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
        from thpi._optional import require_extra

        require_extra(extra)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(f"{argument}={str(path)!r} cannot be written: {error.strerror or error}.") from None
    if (free := shutil.disk_usage(path.parent).free) < _LEAST_FREE:
        raise ValueError(f"{argument}={str(path)!r} cannot be written: {free:,} bytes are free there.")


def show(as_json: bool, facts: Facts) -> None:
    """Print facts as one line of JSON, or as a list of names and values without those that are None."""
    if as_json:
        typer.echo(json.dumps(plain(facts), allow_nan=False))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        if value is not None:
            text = _text(value)
            long = isinstance(value, Mapping) or text.count(" ") > 5  # not paths: a sentence has spaces
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


def report(facts: Facts, page: Callable[[], str], html: Path | None, as_json: bool, tell: Callable[[], None]) -> None:
    """Print a result, then write its page: if that fails, the work was not in vain."""
    if as_json:
        show(True, facts)
    else:
        tell()
    if html is not None:
        from thpi._files import atomic_write

        text = page()
        with uninterrupted():
            atomic_write(html, text)
        if not as_json:
            typer.echo(f"\npage: {html}")


def say(text: str, style: str = "dim") -> None:
    """Print a sentence in a style of rich, wrapped."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(text, style))


def percent(measured: Measured | None) -> str:
    """Write a share and half of its interval in percent; a line may lack a measure, or have no value for it."""
    if measured is None or not math.isfinite(measured.value):
        return "-"
    reach = max(measured.high - measured.value, measured.value - measured.low)
    return f"{100 * measured.value:.1f}" + (f"±{100 * reach:.1f}" if math.isfinite(reach) else "")


def print_table(titles: Sequence[str], *groups: Iterable[Sequence[str | RichText]], texts: int = 1) -> None:
    """Print groups of rows with a line between them; the first columns are ``texts``, the others numbers.

    Of several texts the first is a name, which is not broken.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Column, Table

    columns = [Column(title, overflow="fold", no_wrap=texts > 1 and title == titles[0]) for title in titles[:texts]]
    columns += [Column(title, justify="right", no_wrap=True) for title in titles[texts:]]
    table = Table(*columns, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for rows in groups:
        for row in rows:
            table.add_row(*row)
        table.add_section()
    Console().print(table)


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[..., None]]:
    """Show a bar and the time on standard error, if it is a terminal; yield the function to update it."""
    if not sys.stderr.isatty():
        yield lambda **_: None  # rich takes as long to import as many a command takes to run
        return
    from rich import progress as rich
    from rich.console import Console

    columns = ("{task.description}", rich.BarColumn(), rich.TimeElapsedColumn(), rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield partial(progress.update, progress.add_task(text, total=None))
