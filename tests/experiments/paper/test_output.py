from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.__main__ import run
from experiments.harness.figures import figure_bytes
from experiments.paper.claims import judge_claims
from experiments.paper.figures import draw_figure1
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun


class Page(HTMLParser):
    """Collects what a page refers to, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_all_files_are_there_and_small(quick: Path) -> None:
    names = {path.name for path in (quick / "report").iterdir()}
    figures = {f"{f}-{p}.{e}" for f in ("figure1", "figure2") for p in ("paper", "standard") for e in ("png", "svg")}
    figures |= {"figure3-paper.png", "figure3-paper.svg"}
    shown = ("table1", "figure1", "figure2", "figure3")
    tables = {f"{name}.{e}" for name in shown for e in ("csv", "json")}
    more = {"claims.json", "settings.json", "parameters.csv", "splits.csv", "report.html"}
    assert names == figures | tables | more
    assert sum(path.stat().st_size for path in (quick / "report").iterdir()) < 1_000_000


def test_the_page_stands_alone_and_is_well_formed(quick: Path, results: Results) -> None:
    text = (quick / "report" / "report.html").read_text("utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert len(page.references) == 5
    assert all(reference.startswith("data:image/svg+xml;base64,") for reference in page.references)
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    for protocol in ("paper", "standard"):
        for verdict in judge_claims(results, protocol):
            assert verdict.sentence in text
    for phrase in (
        "same class, or a shared tag",
        "near in source space",
        "no source",
        "all target data",
        "queries included",
    ):
        assert phrase in text


def test_splits_have_the_mean_of_the_table_and_the_seeds_of_the_splits(quick: Path, results: Results) -> None:
    rows = list(csv.DictReader((quick / "report" / "splits.csv").open()))
    names = ("dataset", "protocol", "alpha", "bits", "method", "relevance")
    by_cell: dict[tuple[str, ...], dict[int, float]] = {}
    for row in rows:
        assert re.fullmatch(r"\d+\.\d{1,4}", row["value"])
        by_cell.setdefault(tuple(row[name] for name in names), {})[int(row["seed"])] = float(row["value"])
    # 2 protocols, 12 runs, 3 meanings: both lengths at alpha .5, and 16 bits at alpha .1; Figure 3 is not in it.
    assert len(by_cell) == 2 * 12 * 3 * (2 + 1)
    assert {tuple(values) for values in by_cell.values()} == {(0, 1)}
    table = list(csv.DictReader((quick / "report" / "table1.csv").open()))
    for row in table:
        mean = sum(by_cell[tuple(row[name] for name in names)].values()) / 2
        assert float(row["value"]) == pytest.approx(mean, abs=1e-4)
    found = results.splits("digits", "paper", 0.1, MethodRun("LapITQPlus", 16), "labels")
    kept = by_cell["digits", "paper", "0.1", "16", "LapITQ+", "labels"]
    assert list(kept.values()) == pytest.approx(found, abs=1e-4)


def test_claims_in_json_are_those_of_the_results(quick: Path, results: Results) -> None:
    claims = json.loads((quick / "report" / "claims.json").read_text())
    assert [c["sentence"] for c in claims["paper"]] == [v.sentence for v in judge_claims(results, "paper")]


def test_a_second_run_fits_nothing_and_writes_the_same_bytes(
    quick: Path, quick_options: list[str], tmp_path: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for kind in ("fits", "measures") for path in (quick / kind).iterdir()}
    arguments = [*quick_options, "--results", str(quick), "--output", str(tmp_path)]
    assert run(["paper", "all", *arguments]) == 0
    assert before == {path: path.stat().st_mtime_ns for path in before}
    for path in (quick / "report").iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_a_damaged_result_is_made_again(quick: Path, quick_options: list[str], tmp_path: Path) -> None:
    good = (quick / "report" / "table1.csv").read_bytes()
    for path in list((quick / "measures").iterdir())[:1]:
        path.write_bytes(path.read_bytes()[:-20])
    arguments = [*quick_options, "--results", str(quick), "--output", str(tmp_path)]
    assert run(["paper", "table1", *arguments]) == 0
    assert (tmp_path / "table1.csv").read_bytes() == good


def test_a_figure_draws_every_method_and_reference_and_does_not_change(results: Results) -> None:
    figure = draw_figure1(results, "paper")
    (legend,) = figure.legends
    shown = {text.get_text() for text in legend.get_texts()}
    assert {"LSH", "LapITQ+", "ITQ (no source)", "ITQ, all target data", "LapITQ+, all target data"} <= shown
    assert {"CCA-ITQ, tuned", "CVH, tuned"} <= shown
    svg = figure_bytes(figure, "svg")
    assert svg == figure_bytes(draw_figure1(results, "paper"), "svg")
    assert not re.search(rb"<dc:date>", svg)
    assert figure_bytes(figure, "png").startswith(b"\x89PNG")
