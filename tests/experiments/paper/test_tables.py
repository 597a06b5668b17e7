from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from experiments.harness.tables import TABLES
from experiments.harness.writers import print_grid, to_csv, to_html, to_json
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.tables import Value, table1_grid, values, worth_grid


def test_cells_hold_means_gains_and_efficiency(results: Results) -> None:
    cells = {(c.method, c.bits): c for c in values(results, "standard")}
    assert len(cells) == 24
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


def test_digits_have_no_published_values(results: Results) -> None:
    assert all(cell.published is None and cell.difference is None for cell in values(results, "paper"))


def test_csv_and_json_carry_the_same_numbers_in_full(results: Results) -> None:
    cells = [
        cell for p in results.protocols for kind in ("target", "labels", "source") for cell in values(results, p, kind)
    ]
    records = TABLES["paper"]["table1"].records(results)
    read, loaded = list(csv.DictReader(io.StringIO(to_csv(records)))), json.loads(to_json(records))
    assert [float(row["value"]) for row in read] == [cell.value for cell in cells]
    column = loaded["columns"].index("value")
    assert [row[column] for row in loaded["rows"]] == [cell.value for cell in cells]


def _changed(results: Results) -> list[Value]:
    cells = values(results, "paper")
    cells[0] = replace(cells[0], value=20.0, published=14.0, difference=6.0)
    cells[1] = replace(cells[1], value=None, reason="at most 60 <bits> [or so]")
    return cells


def test_published_value_difference_reason_and_best_are_on_the_page(results: Results) -> None:
    html = to_html(table1_grid(_changed(results)))
    assert "20.00<small>14.00 <span class='difference far'>+6.00</span></small>" in html
    assert "-<sup>1</sup>" in html
    assert "<li>at most 60 &lt;bits&gt; [or so]</li>" in html
    assert html.count("<b>") == 2  # the best of each code length


def test_the_terminal_shows_published_value_and_difference(results: Results) -> None:
    console = Console(file=io.StringIO(), width=160)
    print_grid(console, table1_grid(_changed(results)))
    text = console.file.getvalue()
    assert " 20.00 " in text
    assert "(14.00, +6.00)" in text
    assert "-: at most 60 <bits> [or so]" in text
    assert "ITQ (no source)" in text


def test_gain_interval_and_share_are_shown(results: Results) -> None:
    cells = [
        replace(c, gain=1.5, gain_low=1.0, gain_high=2.0, efficiency=None if c.bits == 8 else 0.25)
        for c in values(results, "standard")
    ]
    html = to_html(worth_grid(cells))
    assert "+1.50<small>+1.0 to +2.0, no gap</small>" in html
    assert "+1.50<small>+1.0 to +2.0, 25 %</small>" in html
