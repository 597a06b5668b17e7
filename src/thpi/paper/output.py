"""Writing everything an experiment has to show into one folder."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thpi._files import atomic_write
from thpi.evaluation import MethodRun
from thpi.paper.claims import judge_claims
from thpi.paper.experiments import METHODS, reference_runs, sweep_runs
from thpi.paper.results import Results
from thpi.paper.tables import Cell, cells_to_csv, cells_to_json, rows_to_json, run_title, table_cells

__all__ = ["all_cells", "write_output"]


def all_cells(results: Results) -> list[Cell]:
    """Table 1 under every protocol and every meaning of "relevant"."""
    kinds = ("target", "labels", "source")
    return [cell for protocol in results.protocols for kind in kinds for cell in table_cells(results, protocol, kind)]


def write_output(results: Results, experiments: Iterable[str], folder: Path) -> list[Path]:
    """Write tables (CSV, JSON), figures (PNG, SVG) and, if Table 1 is among them, the page; give the files."""
    from thpi.paper.figures import FIGURES, figure_bytes
    from thpi.paper.report import html_report

    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(experiments)
    contents: dict[str, bytes | str] = {}
    if "table1" in wanted:
        cells = all_cells(results)
        contents |= {"table1.csv": cells_to_csv(cells), "table1.json": cells_to_json(cells)}
        contents["claims.json"] = _claims(results)
        contents["parameters.csv"] = _to_csv(_parameters(results))
    pictures: dict[tuple[str, str], bytes] = {}
    for name in (name for name in FIGURES if name in wanted):
        for protocol in results.settings.sweep_protocols if name == "figure3" else results.protocols:
            figure = FIGURES[name](results, protocol)
            pictures[name, protocol] = figure_bytes(figure, "svg")
            contents |= {
                f"{name}-{protocol}.svg": pictures[name, protocol],
                f"{name}-{protocol}.png": figure_bytes(figure, "png"),
            }
        rows = _FIGURE_ROWS[name](results)
        contents |= {f"{name}.csv": _to_csv(rows), f"{name}.json": rows_to_json(rows)}
    if "table1" in wanted:
        contents["report.html"] = html_report(results, pictures)
    for file, data in contents.items():
        atomic_write(folder / file, data)
    return [folder / file for file in contents]


def _claims(results: Results) -> str:
    judged = {
        protocol: [
            {"outcome": verdict.outcome, "sentence": verdict.sentence, **asdict(verdict)}
            for verdict in judge_claims(results, protocol)
        ]
        for protocol in results.protocols
    }
    return json.dumps(judged, indent=1) + "\n"


def _parameters(results: Results) -> list[dict[str, Any]]:
    """The chosen lambda1 and lambda2 of every split."""
    lengths = dict.fromkeys((*results.settings.bits, results.settings.figure_bits))
    return [
        {
            "dataset": dataset, "protocol": protocol, "alpha": alpha, "seed": seed, "bits": bits,
            "method": run_title(run), "lambda1": entry["parameters"].get("lambda1"),
            "lambda2": entry["parameters"].get("lambda2"),
        }
        for dataset in results.datasets
        for protocol in results.protocols
        for alpha in results.alphas(dataset, protocol)
        for bits in lengths
        for run in (MethodRun("ITQPlus", bits), MethodRun("LapITQPlus", bits))
        for seed, entry in enumerate(results.entries(dataset, protocol, alpha, run))
        if "parameters" in entry
    ]  # fmt: skip


def _runs(dataset: str, bits: int) -> tuple[MethodRun, ...]:
    return (*(MethodRun(method, bits) for method in METHODS), *reference_runs(dataset, bits))


def _figure1_rows(results: Results) -> list[dict[str, Any]]:
    bits = results.settings.figure_bits
    return [
        {
            "dataset": dataset, "protocol": protocol, "alpha": alpha, "bits": bits, "method": run_title(run),
            "relevance": kind, "value": results.mean(dataset, protocol, alpha, run, kind),
        }
        for dataset in results.datasets
        for protocol in results.protocols
        for alpha in results.alphas(dataset, protocol)
        for run in _runs(dataset, bits)
        for kind in results.kinds(dataset, protocol)
    ]  # fmt: skip


def _figure2_rows(results: Results) -> list[dict[str, Any]]:
    settings = results.settings
    return [
        {"dataset": dataset, "protocol": protocol, "method": run_title(run), "k": k, "value": value}
        for dataset in results.datasets
        for protocol in results.protocols
        for run in _runs(dataset, settings.figure_bits)
        for k, value in results.precision_at(dataset, protocol, settings.table_alpha, run).items()
    ]


def _figure3_rows(results: Results) -> list[dict[str, Any]]:
    settings = results.settings
    return [
        {
            "dataset": dataset, "protocol": protocol, "varied": name, **dict(run.parameters),
            "value": results.mean(dataset, protocol, settings.table_alpha, run),
        }
        for dataset in results.datasets
        for protocol in settings.sweep_protocols
        for name, runs in sweep_runs(settings).items()
        for run in runs
    ]  # fmt: skip


_FIGURE_ROWS = {"figure1": _figure1_rows, "figure2": _figure2_rows, "figure3": _figure3_rows}


def _to_csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
    return buffer.getvalue()
