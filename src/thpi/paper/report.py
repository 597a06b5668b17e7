"""One page that says what was run and what came out; it needs no network and no script."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape

import thpi
from thpi import datasets
from thpi.evaluation import PROTOCOLS
from thpi.paper.claims import Verdict, bbc_order, distance_to_table1, judge_claims
from thpi.paper.html_tables import source_worth_html, table_html
from thpi.paper.notes import ATTEMPTS, FAR_FROM_PUBLISHED
from thpi.paper.published import published_for
from thpi.paper.results import Results
from thpi.paper.style import STYLE
from thpi.paper.tables import Cell, table_cells
from thpi.paper.terminal import RELEVANCE_TITLES

__all__ = ["html_report"]

CAPTIONS = {
    "figure1": "MAP against alpha, the share of rows whose target is known in training (Figure 1 of the paper).",
    "figure2": "Precision among the first K rows (Figure 2). Of the paper three points of LapITQ+ could be read.",
    "figure3": "LapITQ+ with one parameter varied and the other .01 (Figure 3). The paper's values at 0 are the pale "
    "marks.",
}


def html_report(results: Results, figures: Mapping[tuple[str, str], bytes]) -> str:
    """Give the page; ``figures`` are SVG files by (name, protocol)."""
    parts = [
        "<h1>Transfer hashing with privileged information: the paper's experiments, run again</h1>",
        _lead(results),
        *(_claims(results, protocol) for protocol in results.protocols),
        "<h2>What was run</h2>",
        _what_was_run(results),
    ]
    for protocol in results.protocols:
        parts.append(f"<h2>Table 1, {escape(PROTOCOLS[protocol].title)}</h2>")
        parts.append(f"<p>Percent: {escape(PROTOCOLS[protocol].measure_title)}. {_cell_key(protocol)}</p>")
        cells = table_cells(results, protocol)
        parts += [table_html(cells, dataset) for dataset in results.datasets]
        if protocol == "authors":
            parts.append(_distance(results, cells))
        parts += [_figure(name, svg) for (name, of), svg in figures.items() if of == protocol]
        parts.append(source_worth_html(cells))
        for kind in ("labels", "source"):
            other = table_cells(results, protocol, kind)
            if other:
                parts.append(
                    f"<h3>The same, relevant = {escape(RELEVANCE_TITLES[kind])}</h3><p>The parameters are those "
                    "selected for nearness in target space. The answer changes with what relevant means.</p>"
                )
                parts += [table_html(other, name) for name in results.datasets if name in {c.dataset for c in other}]
                parts.append(source_worth_html(other))
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper's experiments, run again</title><style>{STYLE}</style></head>\n<body><main>\n{body}\n"
        f"<footer>Made by <code>thpi paper</code>, thpi {escape(thpi.__version__)}. Not edited by hand.</footer>"
        "</main></body></html>\n"
    )


def _lead(results: Results) -> str:
    sets = ", ".join(results.datasets)
    quick = (
        " This is a quick run: few splits, short codes, a small search for parameters."
        if results.settings.quick
        else ""
    )
    return (
        f"<p class=lead>Table 1 and Figures 1 to 3 on {escape(sets)}, with two reference lines the paper does not "
        "have: plain ITQ on the same few target rows, which is what one gets with no source at all, and training on "
        f"all target rows, which is what the source is a substitute for.{quick}</p>"
    )


def _claims(results: Results, protocol: str) -> str:
    verdicts = judge_claims(results, protocol)
    items = "".join(_claim(verdict) for verdict in verdicts)
    return f"<h2>The paper's claims, {escape(PROTOCOLS[protocol].title)}</h2><ul class=claims>{items}</ul>"


def _claim(verdict: Verdict) -> str:
    details = "".join(
        f"<li><b>{escape(finding.dataset)}</b>, {finding.outcome}: {escape(finding.sentence)}.</li>"
        for finding in verdict.findings
    )
    badge = verdict.outcome.split()[0] if verdict.outcome == "confirmed" else verdict.outcome.replace(" ", "-")
    return (
        f"<li><span class='badge {badge}'>{verdict.outcome}</span> {escape(verdict.sentence)}"
        f"<details><summary>The numbers</summary><p>Rule: {escape(verdict.rule)}.</p><ul>{details}</ul></details></li>"
    )


def _what_was_run(results: Results) -> str:
    settings = results.settings
    rows = []
    for dataset in results.datasets:
        entry, against = datasets.info(dataset), published_for(dataset)
        role = (
            ""
            if against is None
            else (f"the paper's {against.name}" if against.same else f"stands in for {against.name}")
        )
        for protocol in results.protocols:
            facts = results.facts(dataset, protocol, settings.table_alpha)
            if facts:
                rows.append(
                    f"<tr><th>{escape(dataset)}</th><td>{escape(role)}</td><td>{protocol}</td>"
                    + "".join(
                        f"<td>{facts[name]:,.0f}</td>"
                        for name in (
                            "n_rows",
                            "n_train",
                            "n_queries",
                            "n_database",
                            "mean_relevant",
                            "n_empty",
                            "n_splits",
                        )
                    )
                    + f"<td>{escape(entry.target)}</td><td>{escape(entry.source)}</td></tr>"
                )
    head = (
        "<tr><th>data set</th><th>role</th><th>protocol</th><th>rows</th><th>pairs</th><th>queries</th>"
        "<th>database</th><th>relevant a query</th><th>queries without</th><th>splits</th><th>target</th>"
        "<th>source</th></tr>"
    )
    return f"""<div class=scroll><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>
<p>The table is for alpha {settings.table_alpha:g}. Larger sets (in a quick run, all) are a fixed random sample of at
most {settings.max_rows or 0:,} rows. Splits have the seeds 0, 1, 2, ...; Figure 3 uses at most 3 of them, under
{escape(PROTOCOLS[settings.sweep_protocols[0]].title)} only.</p>
<dl>
<dt>Split</dt>
<dd>alpha N rows are pairs; 10 % of the others are queries; of the rest training sees the source alone.</dd>
<dt>Authors' protocol</dt>
<dd>The database is the training rows. Relevant is what is strictly nearer than the mean distance of 100 training rows
to the 50th entry of their sorted distances, themselves included. The figure is the trapezoid area under one
precision-recall curve pooled over all queries. <b>Leak, named:</b> PCA and LDA are fitted on all rows, queries
included, as the paper does. With few training rows (alpha .1 of 600 rows are 60) the 50th neighbour is nearly the
farthest, so almost everything is relevant and the figures are high.</dd>
<dt>Standard protocol</dt>
<dd>The database is every target row that is not a query. The radius is the mean distance of database rows to their
50th neighbour. The figure is the mean over queries of average precision, expected over random orders of ties; queries
without a relevant row are left out and counted above. Preprocessing is fitted on training rows (and, for the source,
on all rows that are not queries): nothing of a query is seen. Nearness itself is judged in features fitted on all
rows, so that each alpha asks the same question.</dd>
<dt>Parameters</dt>
<dd>lambda1 and lambda2 are chosen for each split and code length by cross-validation on the training pairs, over
{", ".join(f"{value:g}" for value in settings.selection.grid)}: {escape(settings.selection.describe())}.
The chosen values are in parameters.csv.</dd>
<dt>Reference lines</dt>
<dd>"ITQ (no source)" learns from the same n target rows. "All target data" learns from every target row that is not a
query; LapITQ+ so trained is run on the smaller sets only. Transfer efficiency is the share of the gap between ITQ
without source and ITQ on all target data that a method closes; it is undefined where there is no gap.</dd>
<dt>Intervals</dt>
<dd>95 %, Student's t on the differences between two methods split by split. Splits share rows, so the intervals are a
guide.</dd>
</dl>"""


def _cell_key(protocol: str) -> str:
    if protocol == "authors":
        return "Small print in a cell: the published value, and our difference to it in points."
    return "The paper gives no figures for this protocol."


def _distance(results: Results, cells: Sequence[Cell]) -> str:
    lines = []
    for dataset in results.datasets:
        against, distance = published_for(dataset), distance_to_table1(results, dataset)
        if against is None or distance is None or not against.same:
            continue
        far = [c for c in cells if c.dataset == dataset and abs(c.difference or 0) > FAR_FROM_PUBLISHED]
        listed = ", ".join(f"{c.method} at {c.bits} bits ({c.difference:+.1f})" for c in far) or "none"
        tried = "".join(f"<li>{escape(text)}</li>" for text in ATTEMPTS.get(dataset, ()))
        lines.append(
            f"<li><b>{escape(dataset)}</b>: mean absolute distance to Table 1 {distance[0]:.2f} points over "
            f"{distance[1]} cells; more than {FAR_FROM_PUBLISHED:g} points off: {escape(listed)}."
            + (f"<br>What was tried to come closer:<ul>{tried}</ul>" if far and tried else "")
            + "</li>"
        )
    order = ""
    if "bbc" in results.datasets:
        finding = bbc_order(results)
        order = (
            f"<p>On BBC, the order ITQ+ &gt; CCA-ITQ &gt; LSH at every code length: <b>{finding.outcome}</b>. "
            f"{escape(finding.sentence)}.</p>"
        )
    return f"<h3>How far from the published table</h3>{order}<ul>{''.join(lines)}</ul>" if lines or order else ""


def _figure(name: str, svg: bytes) -> str:
    data = base64.b64encode(svg).decode()
    caption = CAPTIONS[name]
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
