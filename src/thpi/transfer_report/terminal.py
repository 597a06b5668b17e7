"""The benchmark on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thpi.paper.terminal import RELEVANCE_TITLES
from thpi.transfer_report.lines import LINES, NO_SOURCE
from thpi.transfer_report.results import TransferResults
from thpi.transfer_report.tables import summary_cells
from thpi.transfer_report.targets import Judged

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_targets", "print_transfer"]

# Short enough for a terminal of 80 columns; ITQ+, the weaker of the paper's two, and what was told source and is judged
# by class stand in the page alone.
_SHORT = {
    "itq": "ITQ",
    "lap_itq_plus": "Lap+",
    "transfer_itq": "TrITQ",
    "auto_no_source": "alone",
    "auto_unlabelled_no_source": "no y alone",
    "auto_unlabelled": "no y",
    "auto": "Auto",
    "auto_kernel": "bent",
    "auto_shuffled": "shuf",
    "auto_unlabelled_shuffled": "no y shuf",
    "itq_all": "all",
    "auto_all": "all pairs",
}


def print_transfer(console: Console, results: TransferResults) -> None:
    """Print one table a meaning of relevant: MAP of ITQ on the pairs, and the gains over it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    for relevance in results.settings.relevances:
        names = results.sets(relevance)
        if not names:
            continue
        cells = {(cell.set, cell.line): cell for cell in summary_cells(results, relevance)}
        table = Table(
            title=f"relevant = {RELEVANCE_TITLES[relevance]}",
            title_justify="left",
            box=SIMPLE_HEAD,
            padding=(0, 0),
        )
        table.add_column("set", no_wrap=True)
        lines = [line for line in results.lines(relevance) if line in _SHORT]
        for line in lines:
            table.add_column(_SHORT[line], justify="right", style="dim" if LINES[line].role != "method" else "")
        for name in names:
            row = [cells.get((name, line)) for line in lines]
            shown = ["-" if c is None else f"{c.value:.1f}" if c.line == NO_SOURCE else f"{c.gain:+.1f}" for c in row]
            table.add_row(Text(name), *shown)
        console.print(table)
    console.print(
        Text(
            "ITQ: MAP on the pairs, no source; the others: points over it; alone: AutoHasher without source; "
            "no y: without labels, told groups; bent: KernelAutoHasher; "
            "shuf: pairs shuffled; all: ITQ on all target rows; all pairs: AutoHasher, every row paired",
            style="dim",
        )
    )


def print_targets(console: Console, judged: list[Judged]) -> None:
    """Print one line a target."""
    from rich.text import Text

    colours = {"met": "green", "not met": "red"}
    for j in judged:
        line = Text.assemble(
            f"{j.relevance}: ", (j.outcome, colours.get(j.outcome, "yellow")), f" - {j.target} {j.found}"
        )
        console.print(line)
