from __future__ import annotations

import base64
import csv
import re
from pathlib import Path

import pytest

from experiments.__main__ import run


@pytest.mark.long
def test_quick_run_on_bbc_shows_the_order_of_the_methods(shared_data, tmp_path):
    folder = tmp_path / "results"
    options = ["--dataset", "bbc", "--data-home", str(shared_data), "--results", str(folder), "--protocol", "paper"]
    assert run(["paper", "table1", "--quick", *options]) == 0
    table = next(folder.rglob("table1.csv"))
    rows = [row for row in csv.DictReader(table.open()) if row["relevance"] == "target"]
    value = {(row["method"], row["bits"]): float(row["value"]) for row in rows if row["value"]}
    for bits in {bits for _, bits in value}:
        assert value["ITQ+", bits] > value["CCA-ITQ", bits] > value["LSH", bits]
        assert value["CCA-ITQ, tuned", bits] > value["LSH", bits]
    assert all(row["published"] for row in rows if row["method"] == "ITQ+")
    assert not any(row["published"] for row in rows if row["method"].endswith("tuned"))
    report = table.parent
    assert (report / "overview-paper.svg").read_bytes() in _figures(report / "report.html")
    agreement = {row["what"]: row for row in csv.DictReader((report / "agreement.csv").open())}
    mine = [abs(float(row["difference"])) for row in rows if row["published"]]
    assert float(agreement["distance, table1"]["value"]) == pytest.approx(sum(mine) / len(mine), abs=0.005)
    assert int(agreement["distance, table1"]["cells"]) == len(mine) == 12
    assert "distance, figure1" not in agreement  # its 32 bits were not run


def _figures(page: Path) -> list[bytes]:
    """Return the figures in a page."""
    return [
        base64.b64decode(found) for found in re.findall(r"data:image/svg\+xml;base64,([^'\" >]+)", page.read_text())
    ]
