"""This project's targets, and whether they were met: computed from the results, never typed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.harness.gains import Gain, gain_over
from experiments.transfer.lines import ALL_TARGET, AUTO, LINES, NO_SOURCE, UNLABELLED
from experiments.transfer.results import TransferResults
from experiments.transfer.rivals import best_rivals, short_title
from experiments.transfer.settings import SETS
from experiments.transfer.tables import Value, summary_values
from experiments.transfer.words import line_title

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
    """What was found under one meaning of relevant, and the line that is judged.

    All comparisons are made in the settings of that line, which may have been run at one code length alone.
    """

    def __init__(self, results: TransferResults, relevance: str, judged: str = AUTO) -> None:
        self.results, self.relevance, self.judged = results, relevance, judged
        self.cells = {(cell.line, cell.set): cell for cell in summary_values(results, relevance)}
        self.sets = tuple(name for line, name in self.cells if line == judged)

    @property
    def labelled(self) -> list[str]:
        return [name for name in self.sets if SETS[name].labelled]

    def of_judged(self, sets: Sequence[str] | None = None) -> list[Value]:
        return [self.cells[self.judged, name] for name in (self.sets if sets is None else sets)]

    def named(self, text: str) -> str:
        """Return the text of a target, with the name of the line where that is not AutoHasher itself."""
        if self.judged == AUTO:
            return text
        return f"{line_title(self.results, self.judged)}: {text[0].lower()}{text[1:]}"

    def lead(self, line: str, over: str, *sets: str) -> Gain:
        """Points by which a line is above another, mean over the sets, with the interval over splits."""
        leads = []
        for name in sets:
            runs = [self.results.runs(name, self.relevance, key, of=self.judged) for key in (line, over)]
            leads.append((runs[0] - runs[1]).mean(axis=0))
        by_split = np.mean(leads, axis=0)
        return gain_over(by_split, np.zeros_like(by_split))

    def gap(self, name: str) -> float:
        return self.lead(ALL_TARGET, NO_SOURCE, name).mean

    def judge(self, rule: Rule) -> Judged:
        text, met, found = rule(self)
        return Judged(self.relevance, self.named(text), met, found)


Found = tuple[str, "bool | None", str]
Rule = Callable[[_Table], Found]
"""From a table to the text of a target, whether it is met, and the figures."""

_NO_LABELS = (UNLABELLED, "auto_told_source")


def judge_targets(results: TransferResults) -> list[Judged]:
    """Judge AutoHasher under every meaning of relevant that was run: its gain, the control, and the rivals."""
    by_meaning = [*_judge_gains(results), *_judge_rivals(results)]
    return sorted(by_meaning, key=lambda judged: results.settings.relevances.index(judged.relevance))


def _judge_rivals(results: TransferResults) -> list[Judged]:
    """Judge what was told groups by class, as all methods without labels are."""
    return [
        _Table(results, relevance, judged).judge(rule)
        for relevance in results.settings.relevances
        for judged in (AUTO, UNLABELLED)
        if best_rivals(results, relevance, judged)
        for rule in (_near_best_rival, _above_best_rival)
    ]


def _judge_gains(results: TransferResults) -> list[Judged]:
    needed = {NO_SOURCE, ALL_TARGET, "lap_itq_plus", AUTO, *_NO_LABELS}
    needed |= {partner for key in (AUTO, *_NO_LABELS) for partner in (LINES[key].alone, LINES[key].control)}
    if needed - set(results.settings.lines):
        return []
    judged: list[Judged] = []
    for relevance in results.settings.relevances:
        if not results.sets(relevance):
            continue
        rules: tuple[Rule, ...] = (_not_below_beyond_interval, _mean_gain, _above_lap, _efficiency, _control)
        if relevance == "target":
            rules = (_no_set_loses, _few_runs_lose, _gain_where_there_is_a_gap, _control, _above_all_target)
        tables = [_Table(results, relevance)]
        if relevance == "labels":  # what the source gives where classes are meant and nobody has named them
            tables += [_Table(results, relevance, line) for line in _NO_LABELS]
        judged += [table.judge(rule) for table in tables for rule in rules]
        if relevance != "target":
            judged += [table.judge(_few_runs_lose) for table in tables]
    return judged


def _worst(cells: Sequence[Value]) -> str:
    worst = min(cells, key=lambda cell: cell.gain)
    return f"lowest: {worst.set} {worst.over_itq.text(2)}"


def _no_set_loses(table: _Table) -> Found:
    cells = table.of_judged()
    text = "On no set more than 0.5 below ITQ on average."
    return text, all(cell.gain >= -0.5 for cell in cells), f"{_worst(cells)}."


def _few_runs_lose(table: _Table) -> Found:
    leads = [
        table.results.runs(name, table.relevance, table.judged)
        - table.results.runs(name, table.relevance, NO_SOURCE, of=table.judged)
        for name in table.sets
    ]
    lost = np.concatenate([(lead < -1).ravel() for lead in leads])
    found = f"{lost.sum()} of {lost.size} runs, {100 * lost.mean():.1f} %."
    return "At most 2 % of runs more than 1 below ITQ.", bool(lost.mean() <= 0.02), found


def _above_all_target(table: _Table) -> Found:
    lead = table.lead(table.judged, ALL_TARGET, *table.sets)
    return "Above ITQ on all target rows, on average over the sets.", lead.mean > 0, f"{lead.text(2)}."


def _gain_where_there_is_a_gap(table: _Table) -> Found:
    text = f"At least +1.0 over ITQ on average over the sets whose gap to all target rows is above {GAP:g}."
    wide = [name for name in table.sets if table.gap(name) > GAP]
    if not wide:
        return text, None, "No set has such a gap."
    cells = table.of_judged(wide)
    mean = float(np.mean([cell.gain for cell in cells]))
    return text, mean >= 1.0, f"{mean:+.2f} over {len(wide)} sets ({_listed(cells)})."


def _not_below_beyond_interval(table: _Table) -> Found:
    cells = table.of_judged()
    text = "On no set below ITQ beyond the interval."
    if cells[0].gain_high is None:
        return text, None, "One split has no interval."
    below = [cell.set for cell in cells if cell.gain_high is not None and cell.gain_high < 0]
    found = f"below: {', '.join(below)}; " if below else ""
    return text, not below, f"{found}{_worst(cells)}."


def _mean_gain(table: _Table) -> Found:
    text = "At least +7 over ITQ on average over the labelled sets."
    if not table.labelled:
        return text, None, "No set has classes."
    cells = table.of_judged(table.labelled)
    mean = float(np.mean([cell.gain for cell in cells]))
    return text, mean >= 7, f"{mean:+.2f} over {len(cells)} sets ({_listed(cells)})."


def _listed(cells: Sequence[Value]) -> str:
    return ", ".join(f"{cell.set} {cell.gain:+.2f}" for cell in cells)


def _above_lap(table: _Table) -> Found:
    text = "Above LapITQ+ on every labelled set."
    apart = {name: table.lead(table.judged, "lap_itq_plus", name) for name in table.labelled}
    if not apart:
        return text, None, "No set has classes."
    below = [name for name, lead in apart.items() if lead.mean <= 0]
    shown = below or [min(apart, key=lambda name: apart[name].mean)]
    found = ", ".join(f"{name} {apart[name].text(2)}" for name in shown)
    return text, not below, f"{'not above' if below else 'least apart'}: {found}."


def _efficiency(table: _Table) -> Found:
    text = "Transfer efficiency above 100 % on average: summed gains over summed gaps to ITQ on all target rows."
    gains = sum(cell.gain for cell in table.of_judged())
    gaps = sum(table.gap(name) for name in table.sets)
    if gaps <= 0:
        return text, None, f"More target rows do not help: the gaps sum to {gaps:+.2f}."
    share = gains / gaps
    return text, share > 1, f"{100 * share:.0f} % (gains {gains:+.2f}, gaps {gaps:+.2f})."


def _control(table: _Table) -> Found:
    # What AutoHasher gains by better learners or by labels is not the source's, and stays when pairs are shuffled.
    base = LINES[table.judged].alone
    control = _Table(table.results, table.relevance, LINES[table.judged].control)
    text = (
        f"The control with shuffled pairs loses the gain over {LINES[base].title}: at most a quarter of it is left, on "
        "average."
    )
    if not control.sets:
        return text, None, "The control was not run."
    real, left = (control.lead(line, base, *control.sets) for line in (table.judged, control.judged))
    found = f"{LINES[table.judged].method} {real.text(2)}, with shuffled pairs {left.text(2)}."
    return text, None if real.mean <= 0 else left.mean <= real.mean / 4, found


def _near_best_rival(table: _Table) -> Found:
    rows = best_rivals(table.results, table.relevance, table.judged)
    worst = min(rows, key=lambda row: row.lead.mean)
    below = sum(row.lead.mean < -0.5 for row in rows)
    found = (
        f"below on {below} of {len(rows)} sets; lowest: {worst.set} {worst.lead.text(2)}, {short_title(worst.rival)}."
    )
    return "On no set more than 0.5 below the best rival in hindsight.", not below, found


def _above_best_rival(table: _Table) -> Found:
    rows = best_rivals(table.results, table.relevance, table.judged)
    mean = float(np.mean([row.lead.mean for row in rows]))
    listed = ", ".join(f"{row.set} {row.lead.mean:+.2f}" for row in rows)
    text = "At least 1 above the best rival in hindsight, on average over sets."
    return text, mean >= 1, f"{mean:+.2f} over {len(rows)} sets ({listed})."
