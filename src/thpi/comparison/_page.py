"""The comparison as one page, and its plot."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from thpi.report import figure_bytes, figure_html, html_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from thpi.comparison._result import Comparison, Result
    from thpi.evaluation import Measured

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31", "#7B4173")
_MARKERS = "os^vD<>Pp"


def comparison_page(found: Comparison) -> str:
    """Return the page."""
    reached = found.choice is not None
    kind, word = ("confirmed", "reached") if reached else ("not-confirmed", "not reached")
    badge = f"<span class='badge {kind}'>{word}</span>"
    caption = (
        "Recall against bytes a row; every point is a code searched exhaustively in one order. The grey line is the "
        "frontier: no code of as many bytes or fewer is better."
    )
    left_out = "".join(f"<p class=notes>Left out: {escape(text)}.</p>" for text in found.left_out)
    body = (
        "<h1>Which code for these vectors?</h1>"
        f"<p class=lead>{badge} {escape(found.sentence)}</p>"
        f"<p>{found.n_database:,} rows of {found.n_dims:,} dimensions, {found.n_queries:,} other rows as queries.</p>"
        f"{figure_html(figure_bytes(draw_frontier(found), 'svg'), caption)}"
        f"{_table(found)}"
        "<p class=notes>Percent. Recall at k: the share of the k nearest rows among the first k found; at 10 in 100: "
        "of the ten nearest among the first hundred, which remains if these are reordered by their vectors. In small "
        "print the 95 % interval over queries. Shared: bytes that all rows share, for centroids and "
        "projections. ms: milliseconds a query of exhaustive search, all queries together.</p>"
        f"{left_out}"
    )
    return html_page("Which code for these vectors?", body, "thpi compare")


def _table(found: Comparison) -> str:
    cuts = list(found.results[0].recalls)
    titles = ["code", "bytes", "shared", *(f"recall at {cut}" for cut in cuts), "ms", "fit, s"]
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    rows = "".join(_row(found, result) for result in found.results)
    return f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _row(found: Comparison, result: Result) -> str:
    name = escape(result.name)
    if result in found.frontier:
        name += f"<small>{'chosen' if result is found.choice else 'frontier'}</small>"
    cells = [
        f"{result.n_bytes:,}",
        f"{result.shared_bytes:,}",
        *map(_percent, result.recalls.values()),
        f"{result.milliseconds:.3f}",
    ]
    cells.append(f"{result.fit_seconds:.1f}")
    chosen = " class=reference" if result is found.choice else ""
    return f"<tr{chosen}><th>{name}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _percent(value: Measured) -> str:
    mean, low, high = (100 * number for number in value)
    return f"{mean:.1f}<small>{low:.1f} to {high:.1f}</small>"


def draw_frontier(found: Comparison) -> Figure:
    """Recall at the wished cut against bytes a row."""
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=(8.5, 4.6), layout="constrained")
    axis = figure.subplots()
    line = [(r.n_bytes, 100 * found.recall(r)) for r in found.frontier]
    axis.plot(*zip(*line, strict=True), color="#bbbbbb", linewidth=6, alpha=0.6, solid_capstyle="round", zorder=0)
    names = list(dict.fromkeys(r.name for r in found.results))
    for number, name in enumerate(names):
        points = [(r.n_bytes, 100 * found.recall(r)) for r in found.results if r.name == name]
        style: Any = {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number // 2 % len(_MARKERS)]}
        dash = "--" if name.endswith("Hamming") else "-"
        axis.plot(*zip(*points, strict=True), label=name, linestyle=dash, linewidth=1, markersize=5, **style)
    axis.axhline(100 * found.wished, color="#000000", linestyle=(0, (1, 2)), linewidth=1)
    axis.set_xscale("log", base=2)
    sizes = sorted({r.n_bytes for r in found.results})
    ticks = [2**power for power in range(0, 20) if sizes[0] <= 2**power <= sizes[-1]]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("bytes a row")
    axis.set_ylabel(f"recall at {found.cut} (%)")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
