"""The comparison as records: mean MAP, gain over no source with its interval, share of the gap closed, losses."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from thpi.evaluation import paired_difference, transfer_efficiency
from thpi.transfer_report.lines import ALL_TARGET, LINES, NO_SOURCE
from thpi.transfer_report.results import Setting, TransferResults
from thpi.transfer_report.settings import SETS

__all__ = ["Cell", "LOSS", "run_rows", "setting_cells", "summary_cells", "to_csv"]

LOSS = 1.0
"""A run is a loss where it is more than this many points below ITQ on the pairs."""


@dataclass(frozen=True)
class Cell:
    """A line on a data set under one meaning of relevant; alpha and bits None: mean over all settings.

    ``gain`` is the mean difference to ITQ on the same pairs. For its 95 % interval the differences are first
    averaged over the settings of a split: one number a split. ``efficiency`` is
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
    def title(self) -> str:
        """Name of the line in print."""
        return LINES[self.line].title


def _cell(relevance: str, name: str, at: Setting | None, line: str, runs: Mapping[str, Any]) -> Cell:
    mine, base, full = runs[line], runs[NO_SOURCE], runs.get(ALL_TARGET)
    gain = paired_difference(mine.mean(axis=0), base.mean(axis=0))
    known = gain.n > 1
    return Cell(
        relevance=relevance,
        set=name,
        use=SETS[name].use,
        alpha=None if at is None else at.alpha,
        bits=None if at is None else at.bits,
        line=line,
        value=float(mine.mean()),
        gain=gain.mean,
        gain_low=gain.low if known else None,
        gain_high=gain.high if known else None,
        efficiency=None if full is None else transfer_efficiency(mine.mean(), base.mean(), full.mean()),
        losses=float(np.mean(mine - base < -LOSS)),
        n_settings=len(mine),
        n_splits=gain.n,
    )


def summary_cells(results: TransferResults, relevance: str) -> list[Cell]:
    """One cell a set and line: means over all settings of the line."""
    cells = []
    for name in results.sets(relevance):
        for line in results.lines(relevance):
            if results.settings_of(name, relevance, line):
                shared = {line, NO_SOURCE, ALL_TARGET} & set(results.lines(relevance))
                runs = {key: results.runs(name, relevance, key, of=line) for key in shared}
                cells.append(_cell(relevance, name, None, line, runs))
    return cells


def setting_cells(results: TransferResults, relevance: str) -> list[Cell]:
    """One cell a set, alpha, code length and line."""
    cells = []
    for name in results.sets(relevance):
        for at in results.complete(name, relevance):
            lines = [k for k in results.lines(relevance) if at in results.settings_of(name, relevance, k)]
            runs = {line: results.splits(name, relevance, line, at)[None] for line in lines}
            cells += [_cell(relevance, name, at, line, runs) for line in lines]
    return cells


def run_rows(results: TransferResults) -> list[dict[str, Any]]:
    """Every run, a column a line: what all tables can be computed from."""
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


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Records that share their names as CSV, empty where there is no value.

    >>> print(to_csv([{"a": 1, "b": None}]), end="")
    a,b
    1,
    """
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
    return buffer.getvalue()


def cell_records(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Give cells as records for CSV and JSON."""
    return [asdict(cell) for cell in cells]
