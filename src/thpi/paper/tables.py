"""Table 1 as records: ours, the published value, the difference, and what the source was worth."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from thpi.evaluation import MethodRun, paired_difference, transfer_efficiency
from thpi.paper.experiments import METHODS, reference_runs
from thpi.paper.published import METHOD_TITLES, published_for, table1
from thpi.paper.results import Results

__all__ = ["Cell", "cells_to_csv", "cells_to_json", "rows_to_json", "run_title", "table_cells"]


@dataclass(frozen=True)
class Cell:
    """One cell: a method at a code length on a data set, under a protocol and a meaning of "relevant".

    ``published`` is the paper's value and ``difference`` ours minus it, in points; ``stand_in`` says that the value
    belongs to the set which this one stands in for. ``gain`` is the mean difference to ITQ on the n target rows
    ("no source") over splits, with its 95 % interval; ``efficiency`` the transfer efficiency.
    """

    dataset: str
    protocol: str
    relevance: str
    alpha: float
    bits: int
    method: str
    reference: bool
    value: float | None
    spread: float | None
    n_splits: int
    published: float | None
    difference: float | None
    stand_in: bool
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    efficiency: float | None
    reason: str | None


def run_title(run: MethodRun) -> str:
    """Name of a run in print.

    >>> run_title(MethodRun("ITQ", 8, "all"))
    'ITQ, all target data'
    """
    return METHOD_TITLES[run.method] + (", all target data" if run.trained_on == "all" else "")


def table_cells(results: Results, protocol: str, kind: str = "target") -> list[Cell]:
    """All cells of Table 1 under one protocol and one meaning of "relevant"."""
    alpha = results.settings.table_alpha
    cells = []
    for dataset in results.datasets:
        if kind not in results.kinds(dataset, protocol):
            continue
        for bits in results.settings.bits:
            few = results.splits(dataset, protocol, alpha, MethodRun("ITQ", bits), kind)
            full = results.mean(dataset, protocol, alpha, MethodRun("ITQ", bits, "all"), kind)
            runs = (*(MethodRun(method, bits) for method in METHODS), *reference_runs(dataset, bits))
            for run in runs:
                values = results.splits(dataset, protocol, alpha, run, kind)
                mean = float(values.mean()) if values.size else None
                known = _published(dataset, bits, run) if (protocol, kind) == ("authors", "target") else None
                against = published_for(dataset)
                gain = paired_difference(values, few) if values.size and values.size == few.size else None
                cells.append(
                    Cell(
                        dataset=dataset,
                        protocol=protocol,
                        relevance=kind,
                        alpha=alpha,
                        bits=bits,
                        method=run_title(run),
                        reference=run.trained_on == "all" or run.method == "ITQ",
                        value=mean,
                        spread=float(values.std(ddof=1)) if values.size > 1 else None,
                        n_splits=int(values.size),
                        published=known,
                        difference=None if known is None or mean is None else mean - known,
                        stand_in=against is not None and not against.same,
                        gain=gain.mean if gain else None,
                        gain_low=gain.low if gain and gain.n > 1 else None,
                        gain_high=gain.high if gain and gain.n > 1 else None,
                        efficiency=(
                            None
                            if mean is None or full is None or not few.size
                            else transfer_efficiency(mean, float(few.mean()), full)
                        ),
                        reason=results.reason(dataset, protocol, alpha, run),
                    )
                )
    return cells


def _published(dataset: str, bits: int, run: MethodRun) -> float | None:
    against = published_for(dataset)
    if against is None or run.trained_on == "all":
        return None
    return table1().get((against.name, bits, run.method))


def cells_to_csv(cells: Sequence[Cell]) -> str:
    """Cells as CSV, one a line; numbers with full precision, empty where there is none."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(Cell.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    for cell in cells:
        writer.writerow({key: "" if value is None else value for key, value in asdict(cell).items()})
    return buffer.getvalue()


def cells_to_json(cells: Sequence[Cell]) -> str:
    """Cells as JSON: ``{"columns": [...], "rows": [[...], ...]}``, a row a line."""
    return rows_to_json([asdict(cell) for cell in cells])


def rows_to_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Records that share their names as JSON, the names once and then a record a line.

    >>> print(rows_to_json([{"k": 1, "value": 0.5}, {"k": 2, "value": None}]), end="")
    {"columns": ["k", "value"], "rows": [
    [1, 0.5],
    [2, null]
    ]}
    """
    columns = list(rows[0]) if rows else []
    lines = ",\n".join(json.dumps([row[column] for column in columns]) for row in rows)
    return f'{{"columns": {json.dumps(columns)}, "rows": [\n{lines}\n]}}\n'
