"""``python -m experiments paper-check``: do the written results still come out of the present code?"""

from __future__ import annotations

import csv
import json
import math
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Optional

import numpy as np
import typer

from experiments.harness.pool import run_all, run_task
from experiments.harness.report import DataHome
from experiments.harness.store import ResultStore
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.selection import SelectionRule
from experiments.paper.settings import Settings, runs_of, tasks_of
from experiments.paper.task import PaperTask

# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
# ruff: noqa: UP045

TOLERANCE = 0.05
"""Points by which a value may differ: builds of BLAS round differently, which turns bits of rows near a threshold."""

_ROUNDING = 1e-3
"""Points by which a mean of split values, written with 4 decimals, may differ from the table, written in full."""


class Fit(NamedTuple):
    """A fit of one split, as splits.csv names it."""

    dataset: str
    protocol: str
    alpha: float
    seed: int
    bits: int
    method: str


Values = dict[Fit, dict[str, float]]
"""Values in percent by fit and meaning of "relevant"."""


class Difference(NamedTuple):
    """A written value and the present one; NaN where there is none any more."""

    fit: Fit
    relevance: str
    written: float
    present: float

    def __str__(self) -> str:
        dataset, protocol, alpha, seed, bits, method = self.fit
        cell = f"{dataset}, {protocol}, alpha {alpha:g}, split {seed}, {bits} bits, {method}, {self.relevance}"
        return f"{cell}: {self.written:.4f} written, {self.present:.4f} now"


def read_splits(folder: Path) -> Values:
    """Return the values by split of a written report."""
    found: Values = {}
    for row in _rows(folder / "splits.csv"):
        fit = Fit(
            row["dataset"], row["protocol"], float(row["alpha"]), int(row["seed"]), int(row["bits"]), row["method"]
        )
        found.setdefault(fit, {})[row["relevance"]] = float(row["value"])
    return found


def read_settings(folder: Path) -> Settings:
    """Return the settings of a written report."""
    path = folder / "settings.json"
    values: dict[str, Any] = json.loads(path.read_text("utf-8"))
    try:
        rule = SelectionRule(**_tuples(values.pop("selection")))
        return Settings(selection=rule, **_tuples(values))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is not of this version ({error}); run `make paper` again.") from None


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def draw(fits: Iterable[Fit], n: int, seed: int) -> list[Fit]:
    """Draw ``n`` fits, or all if there are fewer.

    >>> fits = [Fit("digits", "paper", 0.5, seed, 8, "ITQ") for seed in range(5)]
    >>> len(set(draw(fits, 3, 0))), draw(fits, 9, 0) == fits
    (3, True)
    """
    known = list(fits)
    places = np.random.RandomState(seed).choice(len(known), min(n, len(known)), replace=False)
    return [known[place] for place in sorted(places)]


def fit_again(
    fits: Sequence[Fit], settings: Settings, data_home: Path | None = None, workers: int | None = None
) -> Values:
    """Fit and measure anew, with nothing kept from earlier runs; fits that the settings do not have are left out."""
    names = tuple(dict.fromkeys(fit.dataset for fit in fits))
    wanted = replace(settings, datasets=names)
    tasks: list[PaperTask] = []
    picked: dict[Fit, MethodRun] = {}
    for task in tasks_of(("table1", "figure1"), wanted, data_home):
        place = (task.dataset, task.protocol, task.alpha, task.seed)
        mine = {fit: run for fit in fits for run in runs_of(task.dataset, fit.bits)
                if fit == (*place, run.bits, run.title) and run in task.runs}  # fmt: skip
        if mine:
            picked |= mine
            tasks.append(replace(task, runs=tuple(mine.values())))
    found: Values = {fit: {} for fit in picked}
    with tempfile.TemporaryDirectory() as folder:
        store = ResultStore(folder)
        run_all(run_task, tasks, store, data_home=None if data_home is None else str(data_home), workers=workers)
        # Task by task: the splits of a run are not drawn together.
        for task in tasks:
            results = Results(wanted, [task], store)
            for fit, run in picked.items():
                if fit[:4] == (task.dataset, task.protocol, task.alpha, task.seed):
                    for kind in results.kinds(task.dataset, task.protocol):
                        for value in results.splits(task.dataset, task.protocol, task.alpha, run, kind):
                            found[fit][kind] = float(value)
    return found


def differences(written: Values, present: Values) -> list[Difference]:
    """Return the written values that are not, to the tolerance, the present ones.

    >>> fit = Fit("digits", "paper", 0.5, 0, 8, "ITQ")
    >>> [str(found) for found in differences({fit: {"target": 31.2}}, {fit: {"target": 31.3}})]
    ['digits, paper, alpha 0.5, split 0, 8 bits, ITQ, target: 31.2000 written, 31.3000 now']
    """
    compared = (
        Difference(fit, kind, value, present.get(fit, {}).get(kind, math.nan))
        for fit, values in written.items()
        for kind, value in values.items()
    )
    return [found for found in compared if not abs(found.written - found.present) <= TOLERANCE]


def table_differences(folder: Path, written: Values) -> list[str]:
    """Return the cells of table1.csv that are not the means of their splits."""
    by_cell: dict[tuple[object, ...], list[float]] = {}
    for (dataset, protocol, alpha, _, bits, method), values in written.items():
        for kind, value in values.items():
            by_cell.setdefault((dataset, protocol, alpha, bits, method, kind), []).append(value)
    wrong = []
    for row in _rows(folder / "table1.csv"):
        cell = (
            row["dataset"], row["protocol"], float(row["alpha"]), int(row["bits"]), row["method"], row["relevance"]
        )  # fmt: skip
        mean = float(np.mean(by_cell[cell])) if cell in by_cell else math.nan
        if row["value"] and not abs(float(row["value"]) - mean) <= _ROUNDING:
            wrong.append(f"{', '.join(map(str, cell))}: {float(row['value']):.4f} in table1.csv, {mean:.4f} by splits")
    return wrong


def paper_check(
    cells: Annotated[int, typer.Option("--cells", min=1, help="Number of fits that are done anew.")] = 12,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which ones: the seed of the draw.")] = 0,
    dataset: Annotated[Optional[list[str]], typer.Option("--dataset", help="Data set; may be repeated.")] = None,
    output: Annotated[Path, typer.Option("--output", help="Folder of the written results.")] = Path("docs/results"),
    workers: Annotated[Optional[int], typer.Option("--workers", help="Processes. Default: one per core.")] = None,
    data_home: DataHome = None,
) -> None:
    """Fit random cells of the written results anew and compare; exit code 1 if some are no longer the same."""
    written, settings = read_splits(output), read_settings(output)
    names = {fit.dataset for fit in written}
    for name in dataset or ():
        if name not in names:
            raise ValueError(f"dataset={name!r} is not in {output / 'splits.csv'}, which has {', '.join(names)}.")
    drawn = draw((fit for fit in written if not dataset or fit.dataset in dataset), cells, seed)
    mine = {fit: written[fit] for fit in drawn}
    wrong = [str(found) for found in differences(mine, fit_again(drawn, settings, data_home, workers))]
    wrong += table_differences(output, written)
    for line in wrong:
        typer.echo(line)
    n_values = sum(map(len, mine.values()))
    if wrong:
        typer.echo(f"{len(wrong)} values differ: the results in {output} are not those of this code; run `make paper`.")
        raise typer.Exit(1)
    typer.echo(f"{len(drawn)} fits done anew, {n_values} values: all are as written, to {TOLERANCE:g} points.")
