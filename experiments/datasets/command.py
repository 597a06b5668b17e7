"""``python -m experiments datasets``: which data sets there are, where they are from, and if their files are intact."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from experiments import datasets
from experiments.harness.report import DataHome
from thpi.cli._shared import print_table

# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
# ruff: noqa: UP045
app = typer.Typer(no_args_is_help=True, add_completion=False, help="List, describe and verify the data sets.")
_SET = typer.Argument(help="Name of a data set.")
_SETS = typer.Argument(help="Data sets. Default: all.")


@app.command("list")
def list_sets(data_home: DataHome = None) -> None:
    """List the data sets and whether their files are present."""
    rows = []
    for name, entry in datasets.DATASETS.items():
        folder = datasets.data_home_path(data_home) / (entry.folder or "")
        present = any((folder / path).exists() for path in entry.all_files)
        state = "bundled" if entry.folder is None else "present" if present else "missing"
        rows.append((name, state, entry.title, entry.target, entry.source))
    print_table(("name", "files", "title", "target", "source"), rows, texts=5)


@app.command()
def info(name: Annotated[str, _SET], data_home: DataHome = None) -> None:
    """Describe a data set: origin, licence, citation, preprocessing, uses, files."""
    entry = datasets.info(name)
    where = "part of the package" if entry.folder is None else datasets.data_home_path(data_home) / entry.folder
    fields = ("name", "title", "target", "source", "home_page")
    for title, value in (
        *((field.replace("_", " "), getattr(entry, field)) for field in fields),
        ("licence", entry.describe_licence()),
        ("citation", entry.citation),
        ("prepared", entry.preprocessing),
        ("paper", entry.paper and entry.paper.describe()),
        ("benchmark", entry.transfer and entry.transfer.use),
        ("folder", where),
    ):
        if value:
            typer.echo(f"{title:10} {value}")
    for path, sha256 in entry.files.items():
        typer.echo(f"{'file':10} {path}  sha256 {sha256 or 'not known'}")
    for path in entry.public_files:
        typer.echo(f"{'or':10} {path}")


@app.command()
def verify(names: Annotated[Optional[list[str]], _SETS] = None, data_home: DataHome = None) -> None:
    """Compare files with their checksums; exit code 1 if any is missing or altered."""
    wrong = False
    for name in names or datasets.list_datasets():
        for path, status in datasets.verify(name, data_home).items():
            wrong |= status in ("missing", "altered")
            typer.echo(f"{status:9} {name}/{path}")
    raise typer.Exit(1 if wrong else 0)
