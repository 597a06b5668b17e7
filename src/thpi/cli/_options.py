"""Options and arguments that several commands share, declared once, and their completions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Optional

from typer import Argument, Option

TABLES = "npy, npz, csv, tsv or parquet"


def names_of(module: str, *registries: str) -> Callable[[], list[str]]:
    """Return a completion: the names in registries of a module, which is imported only then."""
    return lambda: [name for registry in registries for name in getattr(import_module(module), registry)]


# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
Data = Annotated[str, Argument(metavar="DATA", help=f"Target rows: {TABLES}.")]
DataOrFolder = Annotated[str, Argument(metavar="DATA", help="Target rows: npy, npz, csv, tsv, parquet, or a folder.")]
PRIVILEGED = Option("--privileged", metavar="FILE", help="Source rows of the items of DATA: by id, else by position.")
_ID = "Column of ids, in every table that has it. Default: one called id."
Id = Annotated[Optional[str], Option("--id", "--ids", metavar="COLUMN", help=_ID)]
_ITEM_ID = "Column of ids, in every table that has it, or a file of those of DATA, one per row. Default: one called id."
ItemId = Annotated[Optional[str], Option("--id", "--ids", metavar="COLUMN|FILE", help=_ITEM_ID)]
LABELS = "a column of DATA; FILE:COLUMN, by id, else by position; or a file with one line per row."
FurtherSource = Annotated[Optional[str], Option(metavar="FILE", help="Further source rows, without a target row.")]
FurtherTarget = Annotated[Optional[str], Option(metavar="FILE", help="Further target rows, without a source row.")]
Ignore = Annotated[
    Optional[list[str]], Option(metavar="COLUMN", help="Column that is not a feature, of any table; may be repeated.")
]
Feature = Annotated[
    Optional[list[str]],
    Option("--feature", metavar="COLUMN", help="Feature that looks like an id; may be repeated."),
]
Text = Annotated[Optional[str], Option("--text", metavar="COLUMN", help="Column of DATA with a text to show of items.")]
Pictures = Annotated[
    Optional[Path],
    Option("--pictures", metavar="FOLDER", help="Thumbnails, named after the ids: A-17.webp (png, jpg)."),
]
CollectionFile = Annotated[Path, Argument(metavar="COLLECTION", help="Collection, from thpi build.")]
RELEVANCE = Option(
    autocompletion=names_of("thpi", "RELEVANCES"),
    help="What relevant means: target, source, labels or groups. Default: labels if given, else target.",
)
Bits = Annotated[int, Option("--bits", min=1, help="Length of a code.")]
Seed = Annotated[int, Option("--seed", min=0, help="Same seed, same result.")]
Force = Annotated[bool, Option("--force", help="Replace an existing output.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON, for scripts.")]
_CLUSTER = "Dask scheduler, for instance tcp://host:8786. Its workers read the files, under the same paths."
Scheduler = Annotated[Optional[str], Option(metavar="ADDRESS", help=_CLUSTER)]
