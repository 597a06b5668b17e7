from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from thpi.paper.results import Results
from thpi.paper.tables import table_cells
from thpi.paper.terminal import print_cells


@pytest.mark.slow
def test_the_table_shows_published_value_and_difference(results: Results) -> None:
    cells = table_cells(results, "authors")
    cells[0] = replace(cells[0], value=20.0, published=14.0, difference=6.0)
    cells[1] = replace(cells[1], value=None, reason="at most 60 [bits]")
    console = Console(file=io.StringIO(), width=160)
    print_cells(console, cells)
    text = console.file.getvalue()
    assert " 20.00 " in text
    assert "(14.00, +6.00)" in text
    assert "-: at most 60 [bits]" in text
    assert "ITQ (no source)" in text
