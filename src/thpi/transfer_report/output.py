"""Writing everything the benchmark has to show into one folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from thpi._files import atomic_write
from thpi.paper.tables import rows_to_json
from thpi.transfer_report.markdown import markdown_tables
from thpi.transfer_report.results import TransferResults
from thpi.transfer_report.tables import cell_records, run_rows, setting_cells, summary_cells, to_csv
from thpi.transfer_report.targets import judge_targets

__all__ = ["write_transfer"]


def write_transfer(results: TransferResults, folder: Path) -> list[Path]:
    """Write tables (CSV, JSON, Markdown), figures (PNG, SVG), targets and the page; give the files."""
    from thpi.paper.figures import figure_bytes
    from thpi.transfer_report.figures import draw_alpha, draw_gains
    from thpi.transfer_report.merit import draw_merits
    from thpi.transfer_report.report import transfer_report

    folder.mkdir(parents=True, exist_ok=True)
    relevances = [kind for kind in results.settings.relevances if results.sets(kind)]
    if not relevances:
        raise ValueError("no setting has a value for every line in every split; nothing to show.")
    judged = judge_targets(results)
    cells = [cell for kind in relevances for cell in summary_cells(results, kind)]
    summary = cell_records(cells)
    single = cell_records([cell for kind in relevances for cell in setting_cells(results, kind)])
    contents: dict[str, bytes | str] = {
        "summary.csv": to_csv(summary),
        "summary.json": rows_to_json(summary),
        "settings.csv": to_csv(single),
        "runs.csv": to_csv(run_rows(results)),
        "targets.json": json.dumps([{"outcome": j.outcome, **asdict(j)} for j in judged], indent=1) + "\n",
        "tables.txt": markdown_tables(results, judged),
    }
    drawn = {"gain": draw_gains(results)} | {f"alpha-{kind}": draw_alpha(results, kind) for kind in relevances}
    merit = draw_merits(cells)
    if merit is not None:
        drawn["merit"] = merit
    pictures = {name: figure_bytes(figure, "svg") for name, figure in drawn.items()}
    for name, figure in drawn.items():
        contents |= {f"{name}.svg": pictures[name], f"{name}.png": figure_bytes(figure, "png")}
    contents["report.html"] = transfer_report(results, judged, pictures)
    for file, data in contents.items():
        atomic_write(folder / file, data)
    return [folder / file for file in contents]
