"""The tables as Markdown, for the page of the documentation that includes them."""

from __future__ import annotations

from thpi.paper.terminal import RELEVANCE_TITLES
from thpi.transfer_report.lines import NO_SOURCE
from thpi.transfer_report.orders import ORDER_COLUMNS, OrderRow, order_rows, order_texts
from thpi.transfer_report.results import TransferResults
from thpi.transfer_report.tables import summary_cells
from thpi.transfer_report.targets import Judged
from thpi.transfer_report.words import cell_parts, discipline, left_out, line_title, order_title, what_was_run

__all__ = ["markdown_tables"]


def markdown_tables(results: TransferResults, judged: list[Judged]) -> str:
    """Give the targets, one table a meaning of relevant, and what was left out."""
    parts = [f"Run: {what_was_run(results)} {discipline(results)}"]
    if judged:
        rows = [f"| {RELEVANCE_TITLES[j.relevance]} | {j.target} | **{j.outcome}** | {j.found} |" for j in judged]
        parts.append("| relevant = | target | outcome | found |\n|---|---|---|---|\n" + "\n".join(rows))
    for relevance in results.settings.relevances:
        if results.sets(relevance):
            parts += [f"**Relevant = {RELEVANCE_TITLES[relevance]}**", _table(results, relevance)]
    for relevance in results.settings.relevances:
        found = order_rows(results, relevance)
        if found:
            parts += [f"**{order_title(results)}. Relevant = {RELEVANCE_TITLES[relevance]}**", _orders(found)]
    missing = left_out(results)
    if missing:
        parts.append("Left out, because a line has no value there:\n\n" + "\n".join(f"- {text}" for text in missing))
    return "\n\n".join(parts) + "\n"


def _table(results: TransferResults, relevance: str) -> str:
    cells = {(cell.set, cell.line): cell for cell in summary_cells(results, relevance)}
    columns = results.columns(relevance)
    head = "| set | " + " | ".join(line_title(results, line) for line in columns) + " |"
    rows = [head, "|---|" + "--:|" * len(columns)]
    for name in results.sets(relevance):
        shown = []
        for line in columns:
            if (name, line) not in cells:
                shown.append("-")
                continue
            value, gain, interval, share = cell_parts(cells[name, line])
            small = f"{gain} ({interval})" if interval else gain
            shown.append(value if line == NO_SOURCE else f"{value}<br><small>{small}, {share}</small>")
        rows.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(rows)


def _orders(found: list[OrderRow]) -> str:
    head = "| set | " + " | ".join(ORDER_COLUMNS) + " |"
    rows = [f"| {' | '.join(texts)} |" for texts in order_texts(found)]
    return "\n".join([head, "|---|" + "--:|" * len(ORDER_COLUMNS), *rows])
