"""One table in each form: CSV, JSON, HTML, Markdown, and on a terminal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from experiments.harness.tables import Cell, Column, Grid, Records

if TYPE_CHECKING:
    from rich.console import Console

_BADGES = {True: "confirmed", False: "not-confirmed", None: "not-testable-here"}


def to_csv(records: Records) -> str:
    """Return records that share their names as CSV; numbers in full precision, empty where there is no value.

    >>> print(to_csv([{"a": 1, "b": None}]), end="")
    a,b
    1,
    """
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in records)
    return buffer.getvalue()


def to_json(records: Records) -> str:
    """Return records that share their names as JSON: the names once, then one record per line.

    >>> print(to_json([{"k": 1, "value": 0.5}, {"k": 2, "value": None}]), end="")
    {"columns": ["k", "value"], "rows": [
    [1, 0.5],
    [2, null]
    ]}
    """
    columns = list(records[0]) if records else []
    lines = ",\n".join(json.dumps([row[column] for column in columns]) for row in records)
    return f'{{"columns": {json.dumps(columns)}, "rows": [\n{lines}\n]}}\n'


def to_html(grid: Grid) -> str:
    """Return a grid as HTML; all text is escaped.

    >>> "<tr><th>&lt;a&gt;<small>b</small></th></tr>" in to_html(Grid("", [Column("set")], [[Cell("<a>", ("b",))]]))
    True
    """
    head = "".join(f"<th>{escape(column.title)}{_small(column.small)}</th>" for column in grid.columns)
    rows = "".join(
        f"<tr><th>{_inner(first)}</th>{''.join(_td(cell) for cell in cells)}</tr>"
        for first, *cells in (*grid.rows, *grid.foot)
    )
    caption = f"<caption>{escape(grid.caption)}</caption>" if grid.caption else ""
    table = (
        f"<div class=scroll><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        + (f"<ol class=notes>{''.join(f'<li>{escape(note)}</li>' for note in grid.notes)}</ol>" if grid.notes else "")
        + grid.below
    )
    if grid.folded:
        return f"<details><summary>{escape(grid.heading)}</summary>{table}</details>"
    heading = f"<h3>{escape(grid.heading)}</h3>" if grid.heading else ""
    return heading + (f"<p>{escape(grid.text, quote=False)}</p>" if grid.text else "") + table


def _td(cell: Cell) -> str:
    return f"<td{' class=reference' if cell.reference else ''}>{_inner(cell)}</td>"


def _inner(cell: Cell) -> str:
    text = f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)
    if cell.note:
        text += f"<sup>{cell.note}</sup>"
    if cell.difference:
        far = " far" if cell.far else ""
        small = escape(" ".join(cell.small))
        return f"{text}<small>{small} <span class='difference{far}'>{escape(cell.difference)}</span></small>"
    return text + _small(cell.small)


def _small(texts: Sequence[str]) -> str:
    return "".join(f"<small>{escape(text)}</small>" for text in texts)


def badge(met: bool | None, outcome: str) -> str:
    """Return an outcome as a coloured label; None is for what cannot be judged."""
    return f"<span class='badge {_BADGES[met]}'>{outcome}</span>"


def to_markdown(grid: Grid) -> str:
    """Return a grid as a Markdown table.

    >>> print(to_markdown(Grid("", [Column("set"), Column("MAP")], [[Cell("bbc"), Cell("31.0", brief="+1.0")]])))
    | set | MAP |
    |---|--:|
    | bbc | 31.0<br><small>+1.0</small> |
    """
    rows = [[column.title for column in grid.columns]]
    rows += [[cell.text + (f"<br><small>{cell.brief}</small>" if cell.brief else "") for cell in r] for r in grid.rows]
    head, *lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|---|" + "--:|" * (len(grid.columns) - 1), *lines])


def print_grid(console: Console, grid: Grid) -> None:
    """Print a grid; of few rows and many columns, the columns go down."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    columns, rows, between = list(grid.columns), [list(row) for row in grid.rows], "\n"
    if len(rows) <= 4 and len(columns) > len(rows) + 1:
        between = " "
        heads = [Cell(f"{c.title} ({', '.join(c.small)})" if c.small else c.title) for c in columns[1:]]
        columns = [Column(columns[0].title), *(Column(row[0].text) for row in rows)]
        rows = [[head, *(row[place] for row in rows)] for place, head in enumerate(heads, start=1)]
    table = Table(title=grid.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    shown = [place for place, column in enumerate(columns) if column.short != ""]
    for place in shown:
        title = columns[place].short or columns[place].title
        table.add_column(title, justify="right" if place else "left", no_wrap=not place)
    for row in rows:
        texts = (Text(_printed(row[place], between)) for place in shown)
        table.add_row(*texts, style="dim" if row[-1].reference else "")
    console.print(table)
    for line in (*(f"-: {note}" for note in grid.notes), *([grid.key] if grid.key else [])):
        console.print(Text(line, style="dim"))


def _printed(cell: Cell, between: str) -> str:
    if cell.difference:
        return f"{cell.text}\n({', '.join((*cell.small, cell.difference))})"
    return between.join((cell.text, *cell.small[:1]))
