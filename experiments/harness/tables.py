"""The registry of tables: a table declares itself once, and every writer finds it here.

A table gives *records* (named values in full precision, for CSV and JSON), *grids* (cells of text, for the page, the
terminal and Markdown), or both. A table of records alone is also shown, as it is.

>>> def rows(results):
...     return [{"set": "bbc", "runs": 3}]
>>> toy = Table("toy", "How many runs", records=rows)
>>> toy.grids(None, None)[0].rows[0][1].text
'3'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

R = TypeVar("R")
Records = Sequence[Mapping[str, Any]]
Writer = Literal["csv", "json", "html", "markdown", "terminal"]
EVERYWHERE: tuple[Writer, ...] = ("csv", "json", "html", "markdown", "terminal")


class Section(NamedTuple):
    """A part of a report: one meaning of relevant under one protocol."""

    relevance: str
    protocol: str = "standard"


@dataclass(frozen=True)
class Cell:
    """Text with small print below it.

    ``difference`` is the last word of the small print, marked where it is ``far``; ``note`` is the number of a note
    below the table. ``brief`` is the small print in one line, for Markdown.
    """

    text: str
    small: tuple[str, ...] = ()
    difference: str = ""
    far: bool = False
    reference: bool = False
    best: bool = False
    note: int = 0
    brief: str = ""


@dataclass(frozen=True)
class Column:
    """The head of a column; on a terminal ``short``, and where that is empty the column is left out."""

    title: str
    small: tuple[str, ...] = ()
    short: str | None = None


@dataclass(frozen=True)
class Grid:
    """Cells of text; the first of a row is its head.

    ``title`` is for the terminal and Markdown. On the page, ``heading`` and ``text`` come before the table,
    ``caption`` is part of it, ``foot`` are more rows, ``notes`` and ``below`` (HTML) come after it; a ``folded`` table
    opens at a click. ``key`` explains the cells on a terminal.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    foot: Sequence[Sequence[Cell]] = ()
    heading: str = ""
    text: str = ""
    caption: str = ""
    notes: Sequence[str] = ()
    below: str = ""
    folded: bool = False
    key: str = ""


@dataclass(frozen=True)
class Table(Generic[R]):
    """A table of a report: its name (that of its files), its title, and functions from the results to what it shows.

    ``of_section`` returns the grids of one section, ``at_end`` those at the end of the report. ``wanted`` says
    whether the table belongs to these results at all; ``writers`` are those that show it.
    """

    name: str
    title: str
    records: Callable[[R], Records] | None = None
    of_section: Callable[[R, Section], Sequence[Grid]] | None = None
    at_end: Callable[[R], Sequence[Grid]] | None = None
    wanted: Callable[[R], bool] = lambda results: True
    writers: tuple[Writer, ...] = EVERYWHERE

    def grids(self, results: R, section: Section | None) -> Sequence[Grid]:
        """Return the grids of a section or, without one, of the end of the report."""
        if section is not None:
            return self.of_section(results, section) if self.of_section else ()
        if self.at_end is not None:
            return self.at_end(results)
        return [_plain(self.title, self.records(results))] if self.records and not self.of_section else ()


def _plain(title: str, records: Records) -> Grid:
    columns = [Column(name) for name in records[0]] if records else []
    rows = [[Cell("-" if value is None else str(value)) for value in record.values()] for record in records]
    return Grid(title, columns, rows, heading=title)


TABLES: dict[str, dict[str, Table[Any]]] = {}
"""The tables by report and name, in the order in which they are shown."""


def register(report: str, table: Table[Any]) -> None:
    """Add a table to a report.

    >>> register("doctest", Table("toy", "A toy"))
    >>> register("doctest", Table("toy", "Another"))
    Traceback (most recent call last):
    ...
    ValueError: the report 'doctest' has a table named 'toy' already.
    """
    known = TABLES.setdefault(report, {})
    if table.name in known:
        raise ValueError(f"the report {report!r} has a table named {table.name!r} already.")
    known[table.name] = table


def tables_for(report: str, writer: Writer, results: Any) -> list[Table[Any]]:
    """Return the tables of a report that a writer shows."""
    return [table for table in TABLES[report].values() if writer in table.writers and table.wanted(results)]
