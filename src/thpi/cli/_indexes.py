"""Index files for the commands: checked and described."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from thpi.cli._codes import file_kind
from thpi.cli._output import Facts, show

if TYPE_CHECKING:
    from thpi.index import HammingIndex


def check_index(path: Path) -> None:
    """Refuse a file of another kind, and name its kind."""
    kind = file_kind("INDEX", path)
    if kind != "index":
        raise ValueError(f"INDEX={str(path)!r} is a {kind} file; an index is needed here (see thpi index build).")


def show_index(as_json: bool, path: Path, index: HammingIndex) -> None:
    """Describe an index."""
    report = index.report_
    facts: Facts = {
        "index": str(path),
        "codes": len(index),
        "bits": index.n_bits,
        "ids": index.id_kind,
        "search": "exact" if index.recall is None else f"recall {index.recall:g}",
        "file_bytes": path.stat().st_size,
    }
    if as_json:
        show(True, facts | {"report": None if report is None else report.to_dict()})
        return
    if len(index):
        few = index.ids[:3].tolist()
        facts["first_ids"] = ", ".join(str(value) for value in few) + (", ..." if len(index) > 3 else "")
    show(False, facts)
    if report is not None:
        typer.echo()
        typer.echo(str(report))
