"""Sentences that the page and the tables share."""

from __future__ import annotations

from html import escape

from experiments.transfer.lines import LINES
from experiments.transfer.results import TransferResults
from experiments.transfer.settings import SETS, USES


def discipline(results: TransferResults) -> str:
    """Say which sets were used to choose methods and defaults, and which only to confirm."""
    by_use = {use: [name for name in results.settings.sets if SETS[name].use == use] for use in USES}
    parts = []
    if by_use["development"]:
        names = ", ".join(by_use["development"])
        parts.append(f"Methods and defaults were chosen while looking at {names}.")
    if by_use["confirmation"]:
        names = ", ".join(by_use["confirmation"])
        parts.append(
            f"Only to confirm: {names}. They were not looked at while the methods were designed. But the candidates of "
            "AutoHasher and the rule by which it chooses were taken from splits 0 and 1 of these and of the sets for "
            "development, with a tenth of the rows as pairs and 32 bits: for these, only other splits, shares and code "
            "lengths confirm."
        )
    if by_use["further"]:
        names = ", ".join(by_use["further"])
        parts.append(f"Joined after everything had been chosen, so that all their splits confirm: {names}.")
    if not by_use["confirmation"] and not by_use["further"]:
        parts.append("No set of this run confirms: all were looked at while choosing.")
    return " ".join(parts)


def what_was_run(results: TransferResults) -> str:
    """Say grid, splits and protocol in words."""
    settings = results.settings
    alphas = ", ".join(f"{alpha:g}" for alpha in settings.alphas)
    bits = ", ".join(map(str, settings.bits))
    quick = " This is a quick run, to see that everything works: few splits, few rows." if settings.quick else ""
    splits = f"{settings.splits} split{'s' * (settings.splits > 1)}"
    return (
        f"alpha {alphas} (the share of rows that are pairs), codes of {bits} bits, {splits}. "
        "Database: all rows that are not queries. MAP in percent: mean over queries of average precision, expected "
        f"over random orders of ties.{quick}"
    )


def line_title(results: TransferResults, line: str) -> str:
    """Title of a column; it names the code lengths where these are not all."""
    return LINES[line].title + (_lengths(results) if LINES[line].one_length else "")


def order_title(results: TransferResults) -> str:
    """Title of the tables that compare two orders of the same codes."""
    return f"The same codes in asymmetric order{_lengths(results)}"


def _lengths(results: TransferResults) -> str:
    settings = results.settings
    if set(settings.control_lengths) == set(settings.bits):
        return ""
    return f" ({', '.join(map(str, settings.control_lengths))} bits)"


def left_out(results: TransferResults) -> list[str]:
    """Say which settings of which sets are in no table, and why."""
    by_set: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for (name, at), reason in sorted(results.left_out.items()):
        by_set.setdefault(name, []).append(f"alpha {at.alpha:g} with {at.bits} bits")
        reasons.setdefault(name, reason)
    return [f"{name}: {', '.join(found)} ({reasons[name].rstrip('.')})." for name, found in by_set.items()]


def left_out_html(results: TransferResults) -> str:
    """Say how the splits were made and what was left out, as HTML."""
    missing = "".join(f"<li>{escape(text)}</li>" for text in left_out(results))
    return (
        "<p>Of a set alpha N rows are pairs, 10 % of the others queries; of the rest training sees the source alone. "
        "Preprocessing is that of the paper, fitted without the queries, and on the pairs alone for the target. "
        "Methods that are not told what relevant means are fitted once and measured under every meaning. For classes, "
        "AutoHasher gets the classes (or tags) of the pairs. The interval is Student's t over splits on the "
        "differences averaged over alphas and code lengths; splits share rows, so it is a guide.</p>"
        + (f"<p>Left out, because some line has no value there:</p><ul class=notes>{missing}</ul>" if missing else "")
    )
