"""The diagnosis as one page, and its plot."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from thpi.report import described, figure_bytes, figure_html, html_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from thpi.auto import Entry
    from thpi.evaluation.models._answer import Answer, Diagnosis

_BADGES = {"helps": "confirmed", "hurts": "not-confirmed"}


def diagnosis_page(diagnosis: Diagnosis) -> str:
    """Return the page; all names are escaped, because they may come from a user's own method."""
    badges = [_BADGES.get(a.verdict, "not-testable-here") for a in diagnosis.answers]
    items = "".join(
        f"<li><span class='badge {badge}'>{a.verdict}</span> {escape(a.sentence)}</li>"
        for badge, a in zip(badges, diagnosis.answers, strict=True)
    )
    warning = "" if diagnosis.related else "<span class='badge not-confirmed'>check the pairs</span> "
    body = (
        "<h1>Does the source help?</h1>"
        f"<p class=lead>{diagnosis.rows}, codes of {diagnosis.n_bits} bits.</p>"
        f"<p>{warning}{escape(diagnosis.relation)}</p><ul class=claims>{items}</ul>"
        f"<p>Cross-validation on the pairs with {diagnosis.n_folds} folds: the rows of a fold are queries, the others "
        "are training rows and database. The best method with source and the best without are chosen on the training "
        "rows alone. The interval is 1.96 standard errors over queries or folds, whichever are larger. A difference "
        "below half a point counts as none.</p>" + "".join(_section(answer) for answer in diagnosis.answers)
    )
    return html_page("Does the source help?", body, "thpi diagnose")


def _section(answer: Answer) -> str:
    rows = "".join(_row(candidate) for candidate in answer.candidates)
    words = " ".join(answer.outlook)
    caption = (
        f"Quality against the number of pairs, mean over folds. With source: {answer.best_with_source}; the source of "
        f"the other rows is used as unpaired source. No source: {answer.best_without}; dashed: the same on all target "
        "rows."
    )
    return (
        f"<h2>Relevant = {escape(answer.title)}</h2>"
        f"<p>AutoHasher chooses <b>{escape(answer.choice)}</b>{_parameters(answer.choice_params)}.</p>"
        "<div class=scroll><table><thead><tr><th>candidate</th><th style='text-align:left'>parameters</th>"
        "<th>MAP</th><th>over no source</th>"
        f"<th>interval</th></tr></thead><tbody>{rows}</tbody></table></div>"
        "<p class=notes>The cross-validation of AutoHasher on all pairs, best first. The best of many is partly lucky; "
        "the answer above is free of that.</p>"
        f"{figure_html(figure_bytes(draw_curve(answer), 'svg'), caption)}<p>{escape(words)}</p>"
    )


def _parameters(params: dict[str, Any]) -> str:
    return f" ({escape(described(params))})" if params else ""


def _row(candidate: Entry) -> str:
    name = escape(candidate["name"])
    if candidate["chosen"]:
        name += "<small>chosen</small>"
    if not candidate["on_all_folds"]:
        name += "<small>first fold only</small>"
    cells = f"<tr><th>{name}</th><td style='text-align:left'>{escape(described(candidate['params']))}</td>"
    if candidate["score"] is None:
        return f"{cells}<td>-</td><td>-</td><td>-</td></tr>"
    low, high = candidate["gain_low"], candidate["gain_high"]
    interval = f"<td style='white-space:nowrap'>{low:+.1f} to {high:+.1f}</td>"
    return f"{cells}<td>{candidate['score']:.1f}</td><td>{candidate['gain']:+.1f}</td>{interval}</tr>"


def draw_curve(answer: Answer) -> Figure:
    """MAP against the number of pairs, with and without source."""
    from matplotlib.figure import Figure as NewFigure

    curve = answer.curve
    figure = NewFigure(figsize=(7.5, 3.6), layout="constrained")
    axis = figure.subplots()
    for values, colour, marker, label in (
        (curve.with_source, "#0072B2", "o", "with source"),
        (curve.no_source, "#000000", "x", "no source"),
    ):
        known = [(m, value) for m, value in zip(curve.pairs, values, strict=True) if value is not None]
        if known:
            axis.plot(*zip(*known, strict=True), color=colour, marker=marker, label=label)
    end = curve.no_source[-1]
    if end is not None:
        label = f"no source, all {curve.pairs[-1]:,} rows"
        axis.axhline(end, color="#000000", linestyle=(0, (4, 2)), linewidth=1, label=label)
    axis.set_xscale("log", base=2)
    axis.set_xticks(curve.pairs, [f"{m:,}" for m in curve.pairs])
    axis.minorticks_off()
    axis.set_xlabel("pairs (with source) or target rows (without)")
    axis.set_ylabel("MAP (%)")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    return figure
