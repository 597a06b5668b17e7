"""One page with the targets, the tables and the figures; it needs no network and no script."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape

import numpy as np

import thpi
from thpi import datasets
from thpi.paper.style import STYLE
from thpi.paper.terminal import RELEVANCE_TITLES
from thpi.transfer_report.lines import ALL_TARGET, AUTO, CONTROL, LINES, NO_SOURCE
from thpi.transfer_report.orders import ORDER_COLUMNS, order_rows, order_texts
from thpi.transfer_report.results import TransferResults
from thpi.transfer_report.settings import SETS
from thpi.transfer_report.tables import Cell, summary_cells
from thpi.transfer_report.targets import Judged
from thpi.transfer_report.words import cell_parts, discipline, left_out, line_title, order_title, what_was_run

__all__ = ["figure_html", "html_page", "transfer_report"]

_MORE_STYLE = "tbody th { white-space: nowrap; } .claims small { color: var(--faint); }"
_BADGES = {"met": "confirmed", "not met": "not-confirmed", "cannot be judged here": "not-testable-here"}


def html_page(title: str, body: str, made_by: str) -> str:
    """Give a whole page around a body that is HTML already."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{_MORE_STYLE}</style></head>\n<body><main>\n{body}\n"
        f"<footer>Made by <code>{escape(made_by)}</code>, thpi {escape(thpi.__version__)}. Not edited by hand.</footer>"
        "</main></body></html>\n"
    )


def figure_html(svg: bytes, caption: str) -> str:
    """Give a figure with the picture inside the page."""
    data = base64.b64encode(svg).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def transfer_report(results: TransferResults, judged: list[Judged], figures: Mapping[str, bytes]) -> str:
    """Give the page; ``figures`` are SVG files by name."""
    parts = [
        "<h1>Does the source help? The transfer benchmark</h1>",
        f"<p class=lead>{len(results.settings.sets)} sets of pairs, three meanings of relevant. Every method stands "
        "between two reference lines: ITQ on the same few pairs, which is what one gets with no source, and ITQ on "
        "all target rows, which is what the missing rows would have given.</p>",
        f"<p>Run: {escape(what_was_run(results))}</p>",
        f"<p><b>Development and confirmation.</b> {escape(discipline(results))}</p>",
    ]
    if "merit" in figures:
        caption = "What a better learner gives by itself, and what the source adds to it; mean over all settings."
        parts.append(figure_html(figures["merit"], caption))
    parts += ["<h2>Targets</h2>", _targets(judged)]
    if "gain" in figures:
        caption = (
            "Gain over ITQ without source, 95 % interval over splits; hollow: the control, whose pairs are shuffled."
        )
        parts.append(figure_html(figures["gain"], caption))
    for relevance in results.settings.relevances:
        if not results.sets(relevance):
            continue
        parts += [
            f"<h2>Relevant = {escape(RELEVANCE_TITLES[relevance])}</h2>",
            _table(results, relevance),
        ]
        if f"alpha-{relevance}" in figures:
            caption = "MAP against the share of rows that are pairs, mean over splits; dashed: ITQ on all target rows."
            parts.append(figure_html(figures[f"alpha-{relevance}"], caption))
        parts += [_choices(results, relevance), _orders(results, relevance)]
    parts += ["<h2>What was run</h2>", _sets(results)]
    return html_page("The transfer benchmark", "\n".join(part for part in parts if part), "thpi transfer")


def _targets(judged: list[Judged]) -> str:
    if not judged:
        return "<p>Not judged: the targets need all lines.</p>"
    parts = []
    for relevance in dict.fromkeys(j.relevance for j in judged):
        items = "".join(
            f"<li><span class='badge {_BADGES[j.outcome]}'>{j.outcome}</span> {escape(j.target)} "
            f"<small>{escape(j.found)}</small></li>"
            for j in judged
            if j.relevance == relevance
        )
        parts.append(f"<h3>Relevant = {escape(RELEVANCE_TITLES[relevance])}</h3><ul class=claims>{items}</ul>")
    return "".join(parts)


def _table(results: TransferResults, relevance: str) -> str:
    cells = {(cell.set, cell.line): cell for cell in summary_cells(results, relevance)}
    names = results.sets(relevance)
    head = "".join(f"<th>{escape(line_title(results, line))}</th>" for line in results.columns(relevance))
    rows = []
    for name in names:
        best = max(cells[name, line].value for line in results.columns(relevance) if _comparable(line))
        shown = "".join(_cell(cells.get((name, line)), best) for line in results.columns(relevance))
        use = "" if SETS[name].use == "development" else "<small>confirmation</small>"
        rows.append(f"<tr><th>{escape(name)}{use}</th>{shown}</tr>")
    rows.append(
        "<tr><th>mean over sets</th>"
        + "".join(_mean(cells, names, line) for line in results.columns(relevance))
        + "</tr>"
    )
    return (
        "<p>MAP in percent, mean over alphas, code lengths and splits; below it the gain over ITQ without source with "
        "its 95 % interval, the transfer efficiency (the share of the gap to ITQ on all target rows that is "
        'closed; "no gap" where more target rows do not help) and the share of runs more than one point below ITQ.</p>'
        f"<div class=scroll><table><thead><tr><th>set</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        "</div>"
    )


def _cell(cell: Cell | None, best: float) -> str:
    if cell is None:
        return "<td class=reference>-</td>"
    value, gain, interval, share = cell_parts(cell)
    kind = " class=reference" if LINES[cell.line].role != "method" else ""
    if cell.value == best and _comparable(cell.line):
        value = f"<b>{value}</b>"
    if cell.line == NO_SOURCE:
        return f"<td{kind}>{value}</td>"
    worse = "" if cell.line == ALL_TARGET else f"<small>{share}, {100 * cell.losses:.0f} % lose</small>"
    return f"<td{kind}>{value}<small>{gain}</small><small>{interval}</small>{worse}</td>"


def _mean(cells: Mapping[tuple[str, str], Cell], names: tuple[str, ...], line: str) -> str:
    mine = [cells[name, line] for name in names if (name, line) in cells]
    if not mine:
        return "<td class=reference>-</td>"
    kind = " class=reference" if LINES[line].role != "method" else ""
    gain = "" if line == NO_SOURCE else f"<small>{np.mean([cell.gain for cell in mine]):+.1f}</small>"
    return f"<td{kind}>{np.mean([cell.value for cell in mine]):.1f}{gain}</td>"


def _comparable(line: str) -> bool:
    """Whether a line is a method whose means are over all code lengths, as those of the others are."""
    return LINES[line].role == "method" and not LINES[line].one_length


def _choices(results: TransferResults, relevance: str) -> str:
    rows = []
    for name in results.sets(relevance):
        found = []
        for line in (AUTO, CONTROL):
            share = results.source_share(name, relevance, line) if line in results.lines(relevance) else None
            if share is None:
                return ""
            counts = results.choices(name, relevance, line)
            most = ", ".join(f"{escape(choice)} {count}" for choice, count in list(counts.items())[:3])
            found.append(f"<td>{100 * share:.0f} %</td><td>{most}</td>")
        rows.append(f"<tr><th>{escape(name)}</th>{''.join(found)}</tr>")
    return (
        "<details><summary>What AutoHasher chose</summary><div class=scroll><table><thead><tr><th>set</th>"
        "<th>uses the source</th><th>most often, runs</th><th>with shuffled pairs</th><th>most often, runs</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def _orders(results: TransferResults, relevance: str) -> str:
    found = order_rows(results, relevance)
    if not found:
        return ""
    head = "".join(f"<th>{escape(column)}</th>" for column in ORDER_COLUMNS)
    rows = [
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"
        for name, *texts in order_texts(found)
    ]
    return (
        f"<h3>{escape(order_title(results))}</h3><p>The database is ordered by what the query would have to give up to "
        "have a code: the sum of its projections, without sign, over the bits that differ. It needs nothing but the "
        "codes. The gain is that over ITQ in the same order.</p>"
        f"<div class=scroll><table><thead><tr><th>set</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        "</div>"
    )


def _sets(results: TransferResults) -> str:
    rows = []
    for name in results.settings.sets:
        if name not in results.sizes:
            continue
        n_rows, pairs = results.sizes[name]
        entry = datasets.info(SETS[name].data.name)
        target, source = entry.target, entry.source
        if entry.name == "digits":
            source, target = (f"view {view}" for view in name.split("-")[1:])
        counted = ", ".join(f"{count:,}" for _, count in sorted(pairs.items()))
        spent = results.seconds(name, AUTO)
        rows.append(
            f"<tr><th>{escape(name)}</th><td>{SETS[name].use}</td><td>{n_rows:,}</td><td>{counted}</td>"
            f"<td>{'-' if spent is None else f'{spent:.1f}'}</td><td>{escape(target)}</td><td>{escape(source)}</td>"
            "</tr>"
        )
    missing = "".join(f"<li>{escape(text)}</li>" for text in left_out(results))
    return (
        "<div class=scroll><table><thead><tr><th>set</th><th>used for</th><th>rows</th><th>pairs, by alpha</th>"
        "<th>AutoHasher, median s</th><th>target</th><th>source</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        "<p>Of a set alpha N rows are pairs, 10 % of the others queries; of the rest training sees the source alone. "
        "Preprocessing is that of the paper, fitted without the queries, and on the pairs alone for the target. "
        "Methods that are not told what relevant means are fitted once and measured under every meaning. For classes, "
        "AutoHasher gets the classes (or tags) of the pairs. The interval is Student's t over splits on the "
        "differences averaged over alphas and code lengths; splits share rows, so it is a guide.</p>"
        + (f"<p>Left out, because some line has no value there:</p><ul class=notes>{missing}</ul>" if missing else "")
    )
