from __future__ import annotations

import csv

import pytest

from experiments.__main__ import run


@pytest.mark.slow
def test_quick_run_on_bbc_shows_the_order_of_the_methods(shared_data, tmp_path):
    folder = tmp_path / "results"
    options = ["--dataset", "bbc", "--data-home", str(shared_data), "--results", str(folder), "--protocol", "authors"]
    assert run(["paper", "table1", "--quick", *options]) == 0
    table = next(folder.rglob("table1.csv"))
    rows = [row for row in csv.DictReader(table.open()) if row["relevance"] == "target"]
    value = {(row["method"], row["bits"]): float(row["value"]) for row in rows if row["value"]}
    for bits in {bits for _, bits in value}:
        assert value["ITQ+", bits] > value["CCA-ITQ", bits] > value["LSH", bits]
    assert all(row["published"] for row in rows if row["method"] == "ITQ+")
