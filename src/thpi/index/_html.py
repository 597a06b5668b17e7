"""A HammingIndex in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thpi.report import Row, block, bold, number, paragraph, table

if TYPE_CHECKING:
    from thpi.index._hamming_index import HammingIndex
    from thpi.index._tune import TuneReport


def index_html(index: HammingIndex) -> str:
    """Return the HTML: how many codes, of what size, and how they are searched."""
    n, width = index.codes.shape
    report = index.report_
    rows = {
        "codes": f"{n:,} of {index.n_bits} bits",
        "size": f"{n * width:,} bytes of codes, {width} a code",
        "ids": "none yet" if index.id_kind is None else "integers" if index.id_kind == "int64" else "strings",
        "search": _search(index.recall, report),
        "model": index.model or "unknown",
    }
    parts = [paragraph(bold("HammingIndex")), table((), (Row(row) for row in rows.items()))]
    return block(*parts, *([] if report is None else [_kinds(report)]))


def _search(recall: float | None, report: TuneReport | None) -> str:
    if recall is None or recall == 1:
        return "exact"
    if report is None:
        return f"recall {recall:g} wished; the first search chooses how"
    return f"{report.kind}, recall {report.reached:.4f} reached, {report.target:g} wished, at k = {report.k}"


def _kinds(report: TuneReport) -> str:
    rows = (
        Row(
            (
                each.kind,
                number(each.recall, ".4f"),
                number(each.milliseconds, ".3f"),
                number(each.build_seconds, ".1f"),
                each.note,
            ),
            each.kind == report.kind,
        )
        for each in report.kinds
    )
    return table(("kind", "recall", "ms a query", "built in, s", ""), rows)
