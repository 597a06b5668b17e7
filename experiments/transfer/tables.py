"""The comparison: mean MAP, gain over no source with its interval, share of the gap closed, losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from experiments import datasets
from experiments.harness.gains import Gain, gain_over, shown_share, transfer_efficiency
from experiments.harness.protocol import RELEVANCES
from experiments.harness.tables import Cell, Column, Grid, Records, Section, Table, register
from experiments.transfer.lines import ALL_TARGET, AUTO, LINES, NO_SOURCE
from experiments.transfer.orders import order_grids
from experiments.transfer.results import Setting, TransferResults
from experiments.transfer.rivals import every_rival_grids, rival_grids, rival_records
from experiments.transfer.settings import SETS
from experiments.transfer.words import left_out_html, line_title

LOSS = 1.0
"""A run is a loss where it is more than this many points below ITQ on the pairs."""


@dataclass(frozen=True)
class Value:
    """A line on a data set under one meaning of relevant; alpha and bits None: mean over all settings.

    ``gain`` is the mean difference to ITQ on the same pairs. For its 95 % interval the differences are first
    averaged over the settings of a split: one number per split. ``efficiency`` is
    ``(value - no source) / (all target data - no source)`` of the means, None where more target rows do not help.
    ``losses`` is the share of runs more than one point below ITQ.
    """

    relevance: str
    set: str
    use: str
    alpha: float | None
    bits: int | None
    line: str
    value: float
    gain: float
    gain_low: float | None
    gain_high: float | None
    efficiency: float | None
    losses: float
    n_settings: int
    n_splits: int

    @property
    def over_itq(self) -> Gain:
        """The gain with its interval."""
        return Gain(self.gain, self.gain_low, self.gain_high, self.n_splits)


def _value(relevance: str, name: str, at: Setting | None, line: str, runs: Mapping[str, Any]) -> Value:
    mine, base, full = runs[line], runs[NO_SOURCE], runs.get(ALL_TARGET)
    gain = gain_over(mine.mean(axis=0), base.mean(axis=0))
    return Value(
        relevance=relevance,
        set=name,
        use=SETS[name].use,
        alpha=None if at is None else at.alpha,
        bits=None if at is None else at.bits,
        line=line,
        value=float(mine.mean()),
        gain=gain.mean,
        gain_low=gain.low,
        gain_high=gain.high,
        efficiency=None if full is None else transfer_efficiency(mine.mean(), base.mean(), full.mean()),
        losses=float(np.mean(mine - base < -LOSS)),
        n_settings=len(mine),
        n_splits=gain.n_splits,
    )


def summary_values(results: TransferResults, relevance: str) -> list[Value]:
    """One value per set and line: means over all settings of the line."""
    found = []
    for name in results.sets(relevance):
        for line in results.lines(relevance):
            if results.settings_of(name, relevance, line):
                shared = {line, NO_SOURCE, ALL_TARGET} & set(results.lines(relevance))
                runs = {key: results.runs(name, relevance, key, of=line) for key in shared}
                found.append(_value(relevance, name, None, line, runs))
    return found


def setting_values(results: TransferResults, relevance: str) -> list[Value]:
    """One value per set, alpha, code length and line."""
    found = []
    for name in results.sets(relevance):
        for at in results.complete(name, relevance):
            lines = [k for k in results.lines(relevance) if at in results.settings_of(name, relevance, k)]
            runs = {line: results.splits(name, relevance, line, at)[None] for line in lines}
            found += [_value(relevance, name, at, line, runs) for line in lines]
    return found


def run_records(results: TransferResults) -> list[dict[str, Any]]:
    """Every run, one column per line: all tables can be computed from them."""
    rows = []
    for relevance in results.settings.relevances:
        for name in results.sets(relevance):
            for at in results.complete(name, relevance):
                found = {
                    key: results.splits(name, relevance, key, at).round(4).tolist()
                    for key in results.lines(relevance)
                    if at in results.settings_of(name, relevance, key)
                }
                for seed in range(results.settings.splits):
                    row = {"relevance": relevance, "set": name, "alpha": at.alpha, "bits": at.bits, "seed": seed}
                    rows.append(row | {key: found[key][seed] if key in found else None for key in LINES})
    return rows


def _summary_grids(results: TransferResults, section: Section) -> list[Grid]:
    relevance = section.relevance
    found = {(value.set, value.line): value for value in summary_values(results, relevance)}
    names, lines = results.sets(relevance), results.columns(relevance)
    if not names:
        return []
    rows = []
    for name in names:
        best = max((found[name, line].value for line in lines if _comparable(line)), default=np.inf)
        small = () if SETS[name].use == "development" else (SETS[name].use,)
        rows.append([Cell(name, small), *(_summary_cell(found.get((name, line)), best) for line in lines)])
    return [
        Grid(
            title=f"Relevant = {RELEVANCES[relevance]}",
            columns=[Column("set"), *(Column(line_title(results, line), short=LINES[line].short) for line in lines)],
            rows=rows,
            foot=[[Cell("mean over sets"), *(_mean_cell(found, names, line) for line in lines)]],
            text="MAP in percent, mean over alphas, code lengths and splits; below it the gain over ITQ without source "
            "with its 95 % interval, the transfer efficiency (the share of the gap to ITQ on all target rows that is "
            'closed; "no gap" where more target rows do not help) and the share of runs more than one point below ITQ.',
            key="MAP, and the gain over ITQ without source. alone: AutoHasher without source; no y: without labels, "
            "for groups; linear: without kernels; shuf: pairs shuffled; all: ITQ on all target rows; all pairs: "
            "AutoHasher, every row paired",
        )
    ]


def _summary_cell(value: Value | None, best: float) -> Cell:
    if value is None:
        return Cell("-", reference=True)
    best_one = value.value == best and _comparable(value.line)
    shown = Cell(f"{value.value:.1f}", reference=LINES[value.line].role != "method", best=best_one)
    if value.line == NO_SOURCE:
        return shown
    share = shown_share(value.efficiency)
    losses = () if value.line == ALL_TARGET else (f"{share}, {100 * value.losses:.0f} % lose",)
    small = (f"{value.gain:+.1f}", value.over_itq.interval(), *losses)
    return replace(shown, small=small, brief=f"{value.over_itq.text()}, {share}")


def _mean_cell(found: Mapping[tuple[str, str], Value], names: tuple[str, ...], line: str) -> Cell:
    mine = [found[name, line] for name in names if (name, line) in found]
    if not mine:
        return Cell("-", reference=True)
    gain = () if line == NO_SOURCE else (f"{np.mean([value.gain for value in mine]):+.1f}",)
    return Cell(f"{np.mean([value.value for value in mine]):.1f}", gain, reference=LINES[line].role != "method")


def _comparable(line: str) -> bool:
    """Whether a line is a method whose means are over all code lengths, as those of the others are."""
    return LINES[line].role == "method" and not LINES[line].one_length


def _choice_grids(results: TransferResults, section: Section) -> list[Grid]:
    relevance, rows = section.relevance, []
    for name in results.sets(relevance):
        cells = [Cell(name)]
        for line in (AUTO, LINES[AUTO].control):
            share = results.source_share(name, relevance, line) if line in results.lines(relevance) else None
            if share is None:
                return []
            counts = list(results.choices(name, relevance, line).items())[:3]
            cells += [Cell(f"{100 * share:.0f} %"), Cell(", ".join(f"{choice} {count}" for choice, count in counts))]
        rows.append(cells)
    title = "What AutoHasher chose"
    titles = ("set", "uses the source", "most often, runs", "with shuffled pairs", "most often, runs")
    return [Grid(title, [Column(text) for text in titles], rows, heading=title, folded=True)]


def _set_grids(results: TransferResults) -> list[Grid]:
    rows = []
    for name in (name for name in results.settings.sets if name in results.sizes):
        n_rows, pairs = results.sizes[name]
        entry = datasets.info(SETS[name].data.name)
        target, source = entry.target, entry.source
        if entry.name == "digits":
            source, target = (f"view {view}" for view in name.split("-")[1:])
        counted = ", ".join(f"{count:,}" for _, count in sorted(pairs.items()))
        spent = results.seconds(name, AUTO)
        seconds = "-" if spent is None else f"{spent:.1f}"
        rows.append([Cell(t) for t in (name, SETS[name].use, f"{n_rows:,}", counted, seconds, target, source)])
    titles = ("set", "used for", "rows", "pairs, by alpha", "AutoHasher, median s", "target", "source")
    return [Grid("What was run", [Column(text) for text in titles], rows, below=left_out_html(results))]


def _of(values: Callable[[TransferResults, str], list[Value]]) -> Callable[[TransferResults], Records]:
    return lambda results: [asdict(value) for kind in results.settings.relevances for value in values(results, kind)]


for _table in (
    Table("summary", "Gain over ITQ without source", _of(summary_values), _summary_grids),
    Table("settings", "The same by alpha and code length", _of(setting_values), writers=("csv",)),
    Table("runs", "Every run", run_records, writers=("csv",)),
    Table("choices", "What AutoHasher chose", of_section=_choice_grids, writers=("html",)),
    Table("orders", "The same codes in asymmetric order", of_section=order_grids, writers=("html", "markdown")),
    Table("rivals", "AutoHasher beside the best rival", rival_records, rival_grids),
    Table("all_rivals", "AutoHasher beside all rivals", of_section=every_rival_grids, writers=("html",)),
    Table("sets", "What was run", at_end=_set_grids, writers=("html",)),
):
    register("transfer", _table)
