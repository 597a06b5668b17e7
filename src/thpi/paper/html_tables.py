"""Tables of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from thpi.paper.notes import FAR_FROM_PUBLISHED
from thpi.paper.published import METHOD_TITLES, published_for
from thpi.paper.tables import Cell

__all__ = ["source_worth_html", "table_html"]


def table_html(cells: Sequence[Cell], dataset: str) -> str:
    """One data set: a row a code length, a column a method; empty cells with their reasons below."""
    mine = [cell for cell in cells if cell.dataset == dataset]
    methods = list(dict.fromkeys(cell.method for cell in mine))
    reasons = list(dict.fromkeys(cell.reason for cell in mine if cell.reason))
    head = "".join(f"<th>{escape(m)}{'<small>no source</small>' if m == 'ITQ' else ''}</th>" for m in methods)
    rows = []
    for bits in dict.fromkeys(cell.bits for cell in mine):
        row = {cell.method: cell for cell in mine if cell.bits == bits}
        values = [c.value for c in row.values() if c.value is not None and "all target" not in c.method]
        best = max(values, default=None)
        shown = "".join(_html_cell(row[method], best, reasons) for method in methods)
        rows.append(f"<tr><th>{bits}</th>{shown}</tr>")
    against = published_for(dataset)
    about = (
        f", beside the published values of {against.name}, for which it stands in"
        if against and not against.same
        else ""
    )
    notes = "".join(f"<li>{escape(reason)}</li>" for reason in reasons)
    return (
        f"<div class=scroll><table><caption>{escape(dataset + about)}</caption><thead><tr><th>bits</th>{head}</tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>" + (f"<ol class=notes>{notes}</ol>" if notes else "")
    )


def _html_cell(cell: Cell, best: float | None, reasons: list[str]) -> str:
    kind = " class=reference" if cell.reference else ""
    if cell.value is None:
        mark = f"<sup>{reasons.index(cell.reason) + 1}</sup>" if cell.reason else ""
        return f"<td{kind}>-{mark}</td>"
    value = f"{cell.value:.2f}"
    if cell.value == best:
        value = f"<b>{value}</b>"
    if cell.difference is not None:
        far = " far" if abs(cell.difference) > FAR_FROM_PUBLISHED else ""
        value += f"<small>{cell.published:.2f} <span class='difference{far}'>{cell.difference:+.2f}</span></small>"
    return f"<td{kind}>{value}</td>"


def source_worth_html(cells: Sequence[Cell]) -> str:
    """What the methods gain over ITQ without source, and the share of the gap they close."""
    methods = [METHOD_TITLES[name] for name in ("CCAITQ", "CVH", "ITQPlus", "LapITQPlus")]
    rows = []
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        for bits in dict.fromkeys(cell.bits for cell in cells if cell.dataset == dataset):
            row = {c.method: c for c in cells if (c.dataset, c.bits) == (dataset, bits)}
            gap = row["ITQ, all target data"].gain
            shown = "".join(_worth(row[method]) for method in methods)
            gap_text = "-" if gap is None else f"{gap:+.2f}"
            rows.append(f"<tr><th>{escape(dataset)}</th><td>{bits}</td><td>{gap_text}</td>{shown}</tr>")
    head = "".join(f"<th>{escape(method)}</th>" for method in methods)
    text = (
        "Gain over ITQ without source in points, its 95 % interval, and the transfer efficiency: the share of the gap "
        'to ITQ on all target data that is closed ("no gap" where more target data did not help).'
    )
    return (
        f"<h3>What the source was worth</h3><p>{text}</p><div class=scroll><table><thead><tr><th>data set</th>"
        f"<th>bits</th><th>gap</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _worth(cell: Cell) -> str:
    if cell.gain is None:
        return "<td>-</td>"
    interval = "" if cell.gain_low is None else f"{cell.gain_low:+.1f} to {cell.gain_high:+.1f}, "
    share = "no gap" if cell.efficiency is None else f"{100 * cell.efficiency:.0f} %"
    return f"<td>{cell.gain:+.2f}<small>{interval}{share}</small></td>"
