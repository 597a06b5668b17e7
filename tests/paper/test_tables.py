from __future__ import annotations

import csv
import io
import json

import pytest

from thpi.evaluation import MethodRun
from thpi.paper.results import Results
from thpi.paper.tables import cells_to_csv, cells_to_json, table_cells


@pytest.mark.slow
def test_cells_hold_means_gains_and_efficiency(results: Results) -> None:
    cells = {(c.method, c.bits): c for c in table_cells(results, "standard")}
    assert len(cells) == 20
    for bits in (8, 16):
        itq, full, plus = (cells[m, bits] for m in ("ITQ", "ITQ, all target data", "ITQ+"))
        assert itq.value == results.mean("digits", "standard", 0.5, MethodRun("ITQ", bits))
        assert itq.gain == 0
        assert plus.gain == pytest.approx(plus.value - itq.value)
        assert plus.gain_low < plus.gain < plus.gain_high
        if full.value > itq.value:
            assert full.efficiency == pytest.approx(1)
            assert plus.efficiency == pytest.approx((plus.value - itq.value) / (full.value - itq.value))
        else:
            assert plus.efficiency is None
        assert itq.reference
        assert full.reference
        assert not plus.reference


@pytest.mark.slow
def test_digits_have_no_published_values(results: Results) -> None:
    assert all(cell.published is None and cell.difference is None for cell in table_cells(results, "authors"))


@pytest.mark.slow
def test_csv_and_json_carry_the_same_numbers_in_full(results: Results) -> None:
    cells = table_cells(results, "authors", "labels")
    read = list(csv.DictReader(io.StringIO(cells_to_csv(cells))))
    loaded = json.loads(cells_to_json(cells))
    assert [float(row["value"]) for row in read] == [cell.value for cell in cells]
    column = loaded["columns"].index("value")
    assert [row[column] for row in loaded["rows"]] == [cell.value for cell in cells]
