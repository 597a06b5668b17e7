"""Options and arguments that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Bits = Annotated[int, typer.Option("--bits", min=1, help="Length of a code.")]
CodeBits = Annotated[
    Optional[int], typer.Option("--bits", min=1, help="Bits of a code; needed for plain arrays of bytes only.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same result.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, from thpi fit.")]
FurtherSource = Annotated[
    Optional[str], typer.Option("--source", metavar="FILE", help="Further source rows, without a target row.")
]
FurtherTarget = Annotated[
    Optional[str], typer.Option("--target", metavar="FILE", help="Further target rows, without a source row.")
]
Ignore = Annotated[
    Optional[list[str]],
    typer.Option("--ignore", metavar="COLUMN", help="Column of DATA that is not a feature; may be repeated."),
]
DataHome = Annotated[
    Optional[Path], typer.Option("--data-home", help="Folder of the data sets; else THPI_DATA, else ~/thpi_data.")
]
Scheduler = Annotated[
    Optional[str],
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler, for instance tcp://host:8786. Its workers read the files, under the same paths.",
    ),
]


def dataset_names() -> list[str]:
    """Return the names of the data sets, for completion."""
    from thpi.datasets import list_datasets

    return list(list_datasets())
