"""``thpi datasets``: which data sets there are, what is known of them, and whether their files are intact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="List, describe and verify the data sets.")

DataHome = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads the annotation at run time, on Python 3.10 too
    typer.Option("--data-home", help="Folder of the data sets; else THPI_DATA, else ~/thpi_data."),
]


@app.command("list")
def list_sets(data_home: DataHome = None) -> None:
    """List the data sets and whether their files are there."""
    from rich.console import Console
    from rich.table import Table

    from thpi import datasets

    table = Table("name", "files", "title", "target", "source")
    for name in datasets.list_datasets():
        entry = datasets.info(name)
        folder = datasets.data_home_path(data_home) / (entry.folder or "")
        present = entry.folder is None or any((folder / f.path).exists() for f in entry.files + entry.public_files)
        state = "bundled" if entry.folder is None else "there" if present else "missing"
        table.add_row(name, state, entry.title, entry.target, entry.source)
    Console().print(table)


@app.command()
def info(name: str, data_home: DataHome = None) -> None:
    """Say what is known of a data set: origin, licence, citation, files."""
    from thpi import datasets

    entry = datasets.info(name)
    where = "with the package" if entry.folder is None else str(datasets.data_home_path(data_home) / entry.folder)
    for title, value in (
        ("name", entry.name),
        ("title", entry.title),
        ("target", entry.target),
        ("source", entry.source),
        ("home page", entry.home_page),
        ("licence", entry.licence),
        ("citation", entry.citation),
        ("folder", where),
    ):
        typer.echo(f"{title:10} {value}")
    for file in entry.files:
        typer.echo(f"{'file':10} {file.path}  sha256 {file.sha256 or 'not known'}")
    for file in entry.public_files:
        typer.echo(f"{'or':10} {file.path}")


@app.command()
def verify(
    names: Annotated[Optional[list[str]], typer.Argument(help="Data sets; none means all.")] = None,  # noqa: UP045
    data_home: DataHome = None,
) -> None:
    """Compare files with their checksums; exit code 1 if any is missing or altered."""
    from thpi import datasets

    wrong = False
    for name in names or datasets.list_datasets():
        for path, status in datasets.verify(name, data_home).items():
            wrong |= status in ("missing", "altered")
            typer.echo(f"{status:9} {name}/{path}")
    raise typer.Exit(1 if wrong else 0)
