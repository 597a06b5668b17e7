from __future__ import annotations

from dataclasses import replace

import pytest

from thpi.paper.html_tables import source_worth_html, table_html
from thpi.paper.results import Results
from thpi.paper.tables import table_cells


@pytest.mark.slow
def test_published_value_difference_reason_and_best_are_shown(results: Results) -> None:
    cells = table_cells(results, "authors")
    cells[0] = replace(cells[0], value=20.0, published=14.0, difference=6.0)
    cells[1] = replace(cells[1], value=None, reason="at most 60 <bits>")
    html = table_html(cells, "digits")
    assert "20.00<small>14.00 <span class='difference far'>+6.00</span></small>" in html
    assert "-<sup>1</sup>" in html
    assert "<li>at most 60 &lt;bits&gt;</li>" in html
    assert html.count("<b>") == 2  # the best of each code length


@pytest.mark.slow
def test_gain_interval_and_share_are_shown(results: Results) -> None:
    cells = [
        replace(c, gain=1.5, gain_low=1.0, gain_high=2.0, efficiency=None if c.bits == 8 else 0.25)
        for c in table_cells(results, "standard")
    ]
    html = source_worth_html(cells)
    assert "+1.50<small>+1.0 to +2.0, no gap</small>" in html
    assert "+1.50<small>+1.0 to +2.0, 25 %</small>" in html
