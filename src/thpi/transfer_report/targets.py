"""What was set out to be reached, and whether it was: computed from the results, never typed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thpi.transfer_report.lines import (
    ALL_TARGET,
    AUTO,
    AUTO_NO_SOURCE,
    AUTO_UNLABELLED,
    CONTROL,
    LINES,
    NO_SOURCE,
    UNLABELLED_CONTROL,
)
from thpi.transfer_report.results import TransferResults
from thpi.transfer_report.settings import SETS
from thpi.transfer_report.tables import Cell, summary_cells

__all__ = ["Judged", "judge_targets"]

GAP = 2.0
"""Under target relevance a gain is asked for where ITQ on all target rows is this much above ITQ on the pairs."""


@dataclass(frozen=True)
class Judged:
    """A target, whether it was met (None: nothing to judge it by), and the figures."""

    relevance: str
    target: str
    met: bool | None
    found: str

    @property
    def outcome(self) -> str:
        """In words."""
        return "cannot be judged here" if self.met is None else "met" if self.met else "not met"


class _Table:
    """Summary cells by line and set, and the line that is judged."""

    def __init__(self, cells: Sequence[Cell], judged: str = AUTO) -> None:
        self.judged = judged
        self.cells = {(cell.line, cell.set): cell for cell in cells}
        self.sets = tuple(dict.fromkeys(cell.set for cell in cells))

    @property
    def labelled(self) -> list[str]:
        return [name for name in self.sets if SETS[name].labelled]

    def of(self, line: str, sets: Sequence[str] | None = None) -> list[Cell]:
        return [self.cells[line, name] for name in (self.sets if sets is None else sets)]

    def named(self, text: str) -> str:
        """Give the text of a target, with the name of the line where that is not AutoHasher itself."""
        return text if self.judged == AUTO else f"{LINES[self.judged].title}: {text[0].lower()}{text[1:]}"

    def gap(self, name: str) -> float:
        return self.cells[ALL_TARGET, name].gain


def judge_targets(results: TransferResults) -> list[Judged]:
    """Judge AutoHasher, and the control, under every meaning of relevant that was run."""
    needed = {NO_SOURCE, ALL_TARGET, AUTO, AUTO_NO_SOURCE, AUTO_UNLABELLED, CONTROL, UNLABELLED_CONTROL, "lap_itq_plus"}
    if needed - set(results.settings.lines):
        return []
    judged: list[Judged] = []
    for relevance in results.settings.relevances:
        table = _Table(summary_cells(results, relevance))
        if not table.sets:
            continue
        if relevance == "target":
            rules: tuple[Callable[[TransferResults, str, _Table], Judged], ...] = (
                _no_set_loses, _few_runs_lose, _gain_where_there_is_a_gap, _control,
            )  # fmt: skip
        else:
            rules = (_not_below_beyond_interval, _mean_gain, _above_lap, _efficiency, _control)
        judged += [rule(results, relevance, table) for rule in rules]
        if relevance == "labels":  # what the source gives where classes are meant and nobody has named them
            unlabelled = _Table(summary_cells(results, relevance), judged=AUTO_UNLABELLED)
            judged += [rule(results, relevance, unlabelled) for rule in rules]
    return judged


def _worst(cells: Sequence[Cell]) -> str:
    worst = min(cells, key=lambda cell: cell.gain)
    return f"lowest: {worst.set} {worst.gain:+.2f}{_interval(worst)}"


def _interval(cell: Cell) -> str:
    return "" if cell.gain_low is None else f" ({cell.gain_low:+.2f} to {cell.gain_high:+.2f})"


def _no_set_loses(results: TransferResults, relevance: str, table: _Table) -> Judged:
    cells = table.of(AUTO)
    text = "On no set more than 0.5 below ITQ on average."
    return Judged(relevance, text, all(cell.gain >= -0.5 for cell in cells), f"{_worst(cells)}.")


def _few_runs_lose(results: TransferResults, relevance: str, table: _Table) -> Judged:
    lost = np.concatenate(
        [
            (results.runs(name, relevance, AUTO) - results.runs(name, relevance, NO_SOURCE) < -1).ravel()
            for name in table.sets
        ]
    )
    text = "At most 5 % of runs more than 1 below ITQ."
    return Judged(
        relevance, text, bool(lost.mean() <= 0.05), f"{lost.sum()} of {lost.size} runs, {100 * lost.mean():.1f} %."
    )


def _gain_where_there_is_a_gap(results: TransferResults, relevance: str, table: _Table) -> Judged:
    text = f"At least +1.0 over ITQ on average over the sets whose gap to all target rows is above {GAP:g}."
    wide = [name for name in table.sets if table.gap(name) > GAP]
    if not wide:
        return Judged(relevance, text, None, "No set has such a gap.")
    mean = float(np.mean([cell.gain for cell in table.of(AUTO, wide)]))
    listed = ", ".join(f"{cell.set} {cell.gain:+.2f}" for cell in table.of(AUTO, wide))
    return Judged(relevance, text, mean >= 1.0, f"{mean:+.2f} over {len(wide)} sets ({listed}).")


def _not_below_beyond_interval(results: TransferResults, relevance: str, table: _Table) -> Judged:
    cells = table.of(table.judged)
    text = "On no set below ITQ beyond the interval."
    if cells[0].gain_high is None:
        return Judged(relevance, table.named(text), None, "One split has no interval.")
    below = [cell.set for cell in cells if cell.gain_high is not None and cell.gain_high < 0]
    found = f"below: {', '.join(below)}; " if below else ""
    return Judged(relevance, table.named(text), not below, f"{found}{_worst(cells)}.")


def _mean_gain(results: TransferResults, relevance: str, table: _Table) -> Judged:
    text = "At least +7 over ITQ on average over the labelled sets."
    if not table.labelled:
        return Judged(relevance, table.named(text), None, "No set has classes.")
    cells = table.of(table.judged, table.labelled)
    mean = float(np.mean([cell.gain for cell in cells]))
    listed = ", ".join(f"{cell.set} {cell.gain:+.2f}" for cell in cells)
    return Judged(relevance, table.named(text), mean >= 7, f"{mean:+.2f} over {len(cells)} sets ({listed}).")


def _above_lap(results: TransferResults, relevance: str, table: _Table) -> Judged:
    text = "Above LapITQ+ on every labelled set."
    apart = {n: table.cells[table.judged, n].value - table.cells["lap_itq_plus", n].value for n in table.labelled}
    below = {name: value for name, value in apart.items() if value <= 0}
    if not apart:
        return Judged(relevance, table.named(text), None, "No set has classes.")
    found = "not above: " + ", ".join(f"{name} {value:+.2f}" for name, value in below.items()) if below else ""
    lowest = min(apart, key=lambda name: apart[name])
    return Judged(relevance, table.named(text), not below, f"{found or f'least apart: {lowest} {apart[lowest]:+.2f}'}.")


def _efficiency(results: TransferResults, relevance: str, table: _Table) -> Judged:
    text = "Transfer efficiency above 100 % on average: summed gains over summed gaps to ITQ on all target rows."
    gains = sum(cell.gain for cell in table.of(table.judged))
    gaps = sum(table.gap(name) for name in table.sets)
    if gaps <= 0:
        return Judged(relevance, table.named(text), None, f"More target rows do not help: the gaps sum to {gaps:+.2f}.")
    share = gains / gaps
    return Judged(
        relevance, table.named(text), share > 1, f"{100 * share:.0f} % (gains {gains:+.2f}, gaps {gaps:+.2f})."
    )


def _control(results: TransferResults, relevance: str, table: _Table) -> Judged:
    # What AutoHasher gains by better learners or by labels is not the source's gain, and stays when pairs are shuffled.
    told_labels = table.judged == AUTO
    base = AUTO_NO_SOURCE if told_labels and LINES[AUTO_NO_SOURCE].stands_under(relevance) else NO_SOURCE
    control = CONTROL if told_labels else UNLABELLED_CONTROL
    text = (
        f"The control with shuffled pairs loses the gain over {LINES[base].title}: at most a quarter of it is left, on "
        "average."
    )
    names = [name for name in table.sets if results.settings_of(name, relevance, control)]
    if not names:
        return Judged(relevance, table.named(text), None, "The control was not run.")

    def gain(line: str) -> float:
        # All three in the settings of the control.
        means = [[results.runs(name, relevance, key, of=control).mean() for key in (line, base)] for name in names]
        return float(np.mean([mine - under for mine, under in means]))

    real, left = gain(table.judged), gain(control)
    found = f"AutoHasher {real:+.2f}, with shuffled pairs {left:+.2f}."
    return Judged(relevance, table.named(text), None if real <= 0 else left <= real / 4, found)
