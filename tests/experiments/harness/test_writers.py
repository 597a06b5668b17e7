from __future__ import annotations

import csv
import io
import json

from rich.console import Console

from experiments.harness.tables import Cell, Column, Grid
from experiments.harness.writers import print_grid, to_csv, to_html, to_json, to_markdown

WIDE = Grid(
    "Many columns",
    [Column("set"), *(Column(f"method {i}", short="" if i == 2 else f"m{i}") for i in range(4))],
    [[Cell(name), *(Cell(f"{i}.0", ("+1", "more"), brief="+1, more") for i in range(4))] for name in "abcdef"],
    foot=[[Cell("mean"), *(Cell("9") for _ in range(4))]],
    text="a < b",
    notes=["why & how"],
)


def _printed(grid: Grid) -> str:
    console = Console(file=io.StringIO(), width=100)
    print_grid(console, grid)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_records_come_back_with_every_digit() -> None:
    records = [{"a": 1 / 3, "b": 'x,\n"y"'}, {"a": None, "b": "z"}]
    read = list(csv.DictReader(io.StringIO(to_csv(records))))
    assert float(read[0]["a"]) == 1 / 3
    assert (read[0]["b"], read[1]["a"]) == ('x,\n"y"', "")
    assert json.loads(to_json(records)) == {"columns": ["a", "b"], "rows": [[1 / 3, 'x,\n"y"'], [None, "z"]]}
    assert json.loads(to_json([])) == {"columns": [], "rows": []}


def test_the_page_has_text_rows_foot_and_notes_escaped() -> None:
    html = to_html(WIDE)
    assert html.startswith("<p>a &lt; b</p><div class=scroll>")
    assert html.endswith("<ol class=notes><li>why &amp; how</li></ol>")
    assert html.count("<tr>") == 1 + 6 + 1
    assert html.count("<small>+1</small><small>more</small>") == 6 * 4


def test_markdown_has_the_brief_small_print_and_no_foot() -> None:
    lines = to_markdown(WIDE).splitlines()
    assert len(lines) == 2 + 6
    assert lines[2] == "| a |" + "".join(f" {i}.0<br><small>+1, more</small> |" for i in range(4))


def test_a_terminal_shows_short_titles_and_leaves_out_columns_without_one() -> None:
    text = _printed(WIDE)
    assert "m0" in text
    assert "method" not in text
    assert "2.0" not in text
    assert "-: why & how" in text


def test_few_rows_of_many_columns_are_turned() -> None:
    lines = _printed(Grid(WIDE.title, WIDE.columns, WIDE.rows[:2])).splitlines()
    assert any(line.split() == ["method", "2", "2.0", "+1", "2.0", "+1"] for line in lines)
    assert any(line.split() == ["set", "a", "b"] for line in lines)
