"""A table that is registered from outside is in every output, without any other edit."""

from __future__ import annotations

import csv
import io
import json

from rich.console import Console

from experiments.harness.report import print_report, write_report
from experiments.harness.tables import TABLES, Cell, Column, Grid, Table, register
from experiments.transfer.page import TransferReport


def _pairs(results):
    return [{"set": name, "pairs <= N": n_rows} for name, (n_rows, _) in results.sizes.items()]


def _count(results, section):
    columns = [Column("relevance"), Column("sets")]
    return [
        Grid(
            "Sets by relevance",
            columns,
            [[Cell(section.relevance), Cell(f"{len(results.sets(section.relevance))} toy sets")]],
        )
    ]


def test_a_toy_table_from_outside(results, tmp_path, monkeypatch):
    report = TransferReport()
    before = write_report(report, results, tmp_path / "before")
    monkeypatch.setitem(TABLES, "transfer", dict(TABLES["transfer"]))
    register("transfer", Table("toy", "Rows of a set", records=_pairs))
    register("transfer", Table("count", "Sets", of_section=_count))
    folder = tmp_path / "after"
    files = write_report(report, results, folder)
    assert {file.name for file in files} - {file.name for file in before} == {"toy.csv", "toy.json"}
    assert list(csv.reader((folder / "toy.csv").open())) == [["set", "pairs <= N"], ["digits-fac-pix", "1000"]]
    assert json.loads((folder / "toy.json").read_text()) == {
        "columns": ["set", "pairs <= N"],
        "rows": [["digits-fac-pix", 1000]],
    }
    page = (folder / "report.html").read_text()
    assert "<h3>Rows of a set</h3>" in page
    assert "<th>digits-fac-pix</th><td>1000</td>" in page
    assert "<th>pairs &lt;= N</th>" in page
    assert page.count("<td>1 toy sets</td>") == 3  # one section per meaning of relevant
    markdown = (folder / "tables.txt").read_text()
    assert "**Rows of a set**\n\n| set | pairs <= N |\n|---|--:|\n| digits-fac-pix | 1000 |" in markdown
    assert markdown.count("| 1 toy sets |") == 3
    console = Console(file=io.StringIO(), width=120)
    print_report(console, report, results)
    shown = console.file.getvalue()
    assert "Rows of a set" in shown
    assert "digits-fac-pix" in shown
    assert shown.count("1 toy sets") == 3
    for file in before:
        if file.name not in ("report.html", "tables.txt"):
            assert file.read_bytes() == (folder / file.name).read_bytes(), file.name
