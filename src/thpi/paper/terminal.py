"""Table 1 in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thpi.evaluation import PROTOCOLS
from thpi.paper.tables import Cell

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["RELEVANCE_TITLES", "print_cells", "print_verdicts"]

RELEVANCE_TITLES = {
    "target": "near in target space",
    "labels": "same class, or a shared tag",
    "source": "near in source space",
}


def print_cells(console: Console, cells: Sequence[Cell]) -> None:
    """Print one table a data set: ours, and in brackets the published value and the difference."""
    from rich.table import Table
    from rich.text import Text

    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        mine = [cell for cell in cells if cell.dataset == dataset]
        first = mine[0]
        title = (
            f"{dataset}: {PROTOCOLS[first.protocol].title}, relevant = {RELEVANCE_TITLES[first.relevance]}, "
            f"alpha {first.alpha:g}, {max(cell.n_splits for cell in mine)} splits"
        )
        lengths = list(dict.fromkeys(cell.bits for cell in mine))
        table = Table(title=title, title_justify="left")
        table.add_column("method")
        for bits in lengths:
            table.add_column(f"{bits} bits", justify="right")
        for method in dict.fromkeys(cell.method for cell in mine):
            row = {cell.bits: cell for cell in mine if cell.method == method}
            name = method + (" (no source)" if method == "ITQ" else "")
            texts = [_text(row[bits]) for bits in lengths]
            table.add_row(Text(name), *(Text(text) for text in texts), style="dim" if row[lengths[0]].reference else "")
        console.print(table)
        if any(cell.published is not None for cell in mine):
            note = "in brackets: published value, our difference in points"
            console.print(Text(note + (" (of the set it stands in for)" if first.stand_in else ""), style="dim"))
        for reason in dict.fromkeys(cell.reason for cell in mine if cell.reason):
            console.print(Text(f"-: {reason}", style="dim"))


def _text(cell: Cell) -> str:
    if cell.value is None:
        return "-"
    shown = f"{cell.value:.2f}"
    return shown if cell.difference is None else f"{shown}\n({cell.published:.2f}, {cell.difference:+.2f})"


def print_verdicts(console: Console, sentences: Sequence[str]) -> None:
    """Print one sentence a claim."""
    from rich.text import Text

    for sentence in sentences:
        console.print(Text("- " + sentence))
