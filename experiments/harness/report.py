"""From tasks to files: run what is missing, print the tables, write tables, figures and the page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Generic, NamedTuple, Optional, TypeVar

import typer

from experiments.harness.figures import figure_bytes
from experiments.harness.pool import Task, run_all, run_task
from experiments.harness.store import ResultStore
from experiments.harness.tables import Section, tables_for
from experiments.harness.writers import print_grid, to_csv, to_html, to_json, to_markdown
from thpi._files import atomic_write
from thpi.report import STYLE, html_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
# ruff: noqa: UP045
ResultsFolder = Annotated[Path, typer.Option("--results", help="Folder where results are kept.")]
Output = Annotated[
    Optional[Path],
    typer.Option("--output", help="Folder for tables, figures and the page. Default: in the results folder."),
]
DataHome = Annotated[Optional[Path], typer.Option("--data-home", help="Folder of the data sets.")]

R = TypeVar("R")
Figures = Mapping[str, bytes]


class Outcome(NamedTuple):
    """A judgement in words; ``met`` is None where nothing could be judged."""

    met: bool | None
    sentence: str


class Report(ABC, Generic[R]):
    """What a report consists of besides its tables, which are those registered under its name.

    The page is: the opening, for each section its heading and tables, and the tables at the end. ``figures`` are
    drawn by name and passed to the page as SVG files.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    end_heading: ClassVar[str] = ""
    style: ClassVar[str] = STYLE

    @abstractmethod
    def sections(self, results: R) -> Sequence[Section]:
        """Sections of the page."""

    @abstractmethod
    def opening(self, results: R, figures: Figures) -> list[str]:
        """Parts of the page before the sections, as HTML."""

    @abstractmethod
    def heading(self, results: R, section: Section) -> list[str]:
        """Parts of the page before the tables of a section, as HTML."""

    def after(self, results: R, section: Section, table: str, figures: Figures) -> list[str]:
        """Parts of the page after a table of a section, as HTML."""
        return []

    @abstractmethod
    def figures(self, results: R) -> dict[str, Figure]:
        """Figures by name."""

    def files(self, results: R) -> dict[str, str]:
        """Further files by name."""
        return {}

    @abstractmethod
    def outcomes(self, results: R) -> Iterable[Outcome]:
        """Judgements that are printed after the tables."""

    def printed(self, results: R) -> Sequence[Section]:
        """Sections that are printed on a terminal."""
        return self.sections(results)

    def has_page(self, results: R) -> bool:
        """Whether there is enough for a page."""
        return True

    def page(self, results: R, figures: Figures) -> str:
        """Return the page."""
        parts = self.opening(results, figures)
        tables = tables_for(self.name, "html", results)
        for section in self.sections(results):
            parts += self.heading(results, section)
            for table in tables:
                parts += [to_html(grid) for grid in table.grids(results, section)]
                parts += self.after(results, section, table.name, figures)
        at_end = [to_html(grid) for table in tables for grid in table.grids(results, None)]
        body = "\n".join(part for part in (*parts, self.end_heading if at_end else "", *at_end) if part)
        return html_page(self.title, body, f"python -m experiments {self.name}", style=self.style)


def markdown_tables(report: Report[R], results: R) -> list[str]:
    """Return titles and tables of a report as Markdown, table by table."""
    parts = []
    for table in tables_for(report.name, "markdown", results):
        for section in (*report.sections(results), None):
            for grid in table.grids(results, section):
                parts += [f"**{grid.title}**", to_markdown(grid)]
    return parts


def print_report(console: Console, report: Report[R], results: R) -> None:
    """Print the tables and what follows from them."""
    from rich.text import Text

    for section in (*report.printed(results), None):
        for table in tables_for(report.name, "terminal", results):
            for grid in table.grids(results, section):
                print_grid(console, grid)
    colours = {True: "green", False: "red", None: "yellow"}
    for outcome in report.outcomes(results):
        console.print(Text.assemble(("- ", colours[outcome.met]), outcome.sentence))


def write_report(report: Report[R], results: R, folder: Path) -> list[Path]:
    """Write tables (CSV, JSON), figures (PNG, SVG), further files and the page; return the files."""
    contents: dict[str, bytes | str] = {}
    for ending, form in (("csv", to_csv), ("json", to_json)):
        for table in tables_for(report.name, ending, results):  # type: ignore[arg-type]
            if table.records is not None:
                contents[f"{table.name}.{ending}"] = form(table.records(results))
    contents |= report.files(results)
    svg: dict[str, bytes] = {}
    for name, figure in report.figures(results).items():
        svg[name] = figure_bytes(figure, "svg")
        contents |= {f"{name}.svg": svg[name], f"{name}.png": figure_bytes(figure, "png")}
    if report.has_page(results):
        contents["report.html"] = report.page(results, svg)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in contents.items():
        atomic_write(folder / file, data)
    return [folder / file for file in contents]


AnyTask = TypeVar("AnyTask", bound=Task)


def produce(
    report: Report[R],
    tasks: Sequence[AnyTask],
    gather: Callable[[Sequence[AnyTask], ResultStore], R],
    store: ResultStore,
    output: Path,
    *,
    data_home: Path | None = None,
    workers: int | None = None,
) -> None:
    """Run what is missing, gather the results, print them, and write all files."""
    from rich.console import Console

    console = Console()
    run_missing(console, tasks, store, None if data_home is None else str(data_home), workers)
    results = gather(tasks, store)
    print_report(console, report, results)
    files = write_report(report, results, output)
    console.print(f"{len(files)} files in {output}", highlight=False)


def run_missing(
    console: Console, tasks: Sequence[AnyTask], store: ResultStore, data_home: str | None, workers: int | None
) -> None:
    """Run the fits without a result and show progress; Ctrl-C ends the program and keeps what is finished."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    todo = {task: left for task in tasks if (left := task.left(store))}
    if not todo:
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("fits", total=sum(todo.values()))

        def done(task: AnyTask) -> None:
            progress.update(bar, advance=todo[task], description=task.label)

        try:
            run_all(run_task, list(todo), store, data_home=data_home, workers=workers, on_done=done)
        except KeyboardInterrupt:
            progress.stop()
            console.print("stopped; finished results are kept, and the same command goes on from there")
            raise typer.Exit(130) from None
