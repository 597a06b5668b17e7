"""Sentences that the page, the tables for the documentation and the terminal share."""

from __future__ import annotations

from thpi.transfer_report.lines import LINES
from thpi.transfer_report.results import TransferResults
from thpi.transfer_report.settings import SETS
from thpi.transfer_report.tables import Cell

__all__ = ["cell_parts", "discipline", "left_out", "line_title", "order_title", "what_was_run"]


def discipline(results: TransferResults) -> str:
    """Say which sets were used to choose methods and defaults, and which only to confirm."""
    by_use = {
        use: [name for name in results.settings.sets if SETS[name].use == use]
        for use in ("development", "confirmation")
    }
    parts = []
    if by_use["development"]:
        names = ", ".join(by_use["development"])
        parts.append(f"Methods and defaults were chosen while looking at {names}.")
    if by_use["confirmation"]:
        names = ", ".join(by_use["confirmation"])
        parts.append(
            f"Only to confirm: {names}. They were not looked at while choosing, but for the learner without source "
            "that AutoHasher falls back on under source nearness and groups (all), and for KernelAutoHasher, which is "
            "AutoHasher under target nearness (reuters)."
        )
    else:
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


def cell_parts(cell: Cell) -> tuple[str, str, str, str]:
    """Value, gain, interval and efficiency of a cell as text.

    >>> cell_parts(Cell("target", "bbc", "development", None, None, "auto", 31.04, 1.0, 0.2, 1.8, 0.25, 0.0, 9, 5))
    ('31.0', '+1.0', '+0.2 to +1.8', '25 %')
    """
    interval = "" if cell.gain_low is None else f"{cell.gain_low:+.1f} to {cell.gain_high:+.1f}"
    share = "no gap" if cell.efficiency is None else f"{100 * cell.efficiency:.0f} %"
    return f"{cell.value:.1f}", f"{cell.gain:+.1f}", interval, share


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
