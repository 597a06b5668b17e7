"""A comparison of codes in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thpi.report import Row, block, bold, number, paragraph, percent, table

if TYPE_CHECKING:
    from thpi.comparison._result import Comparison, Result


def comparison_html(found: Comparison) -> str:
    """Return the HTML: the answer, and the frontier; the page has all results (``to_html``)."""
    head = ["code", "bytes", f"recall at {found.cut}, %", "ms a query"]
    others = len(found.results) - len(found.frontier)
    return block(
        paragraph(bold(found.sentence)),
        f"{found.n_database:,} rows of {found.n_dims:,} dimensions, {found.n_queries:,} queries.",
        table(head, (Row(_cells(found, result), result is found.choice) for result in found.frontier)),
        f"These are the best codes of their size. {others:,} more were measured: see results and to_html().",
        *(f"Left out: {text}." for text in found.left_out),
    )


def _cells(found: Comparison, result: Result) -> list[str]:
    recall = percent(result.recalls[found.cut])
    return [result.name, number(result.n_bytes, ","), recall, number(result.milliseconds, ".3f")]
