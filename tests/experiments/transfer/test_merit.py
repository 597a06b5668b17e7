"""What is the learner's and what the source's are the differences of the tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.transfer.lines import AUTO, LINES
from experiments.transfer.merit import MEANINGS, Merit, draw_merits, merits
from experiments.transfer.tables import Value, summary_values

TARGET, SOURCE, UNLABELLED, LABELS = MEANINGS


def _cell(name: str, relevance: str, line: str, gain: float) -> Value:
    return Value(relevance, name, "development", None, None, line, 50 + gain, gain, None, None, None, 0.0, 1, 1)


@pytest.fixture
def cells():
    gains = {
        ("bbc", "target"): (1.0, 3.0),
        ("wikipedia", "target"): (4.0, 3.5),
        ("mediamill", "target"): (0.0, 0.0),
        ("bbc", "labels"): (10.0, 12.0),
        ("mediamill", "labels"): (1.0, 9.0),
    }
    return [
        _cell(*at, line, gain)
        for at, both in gains.items()
        for line, gain in zip((LINES[AUTO].alone, AUTO), both, strict=True)
    ]


def test_the_two_parts_by_hand(cells):
    assert merits(cells, TARGET) == [
        Merit("bbc", 1.0, 2.0),
        Merit("wikipedia", 4.0, -0.5),
        Merit("mediamill", 0.0, 0.0),
        Merit("mean", pytest.approx(5 / 3), pytest.approx(0.5)),
    ]
    # A set with tags in place of classes does not count where classes are meant.
    assert merits(cells, LABELS) == [Merit("bbc", 10.0, 2.0), Merit("mean", 10.0, 2.0)]
    assert merits(cells, SOURCE) == merits(cells, UNLABELLED) == []


def test_bars_have_the_lengths_of_the_parts(cells):
    figure = draw_merits(cells)
    assert figure is not None
    axes = figure.axes
    assert [axis.get_title() for axis in axes] == [TARGET.title, LABELS.title]  # the others were not run
    widths = [bar.get_width() for bar in axes[0].patches]
    assert widths == pytest.approx([1, 2, 4, -0.5, 0, 0, 5 / 3, 0.5])
    assert [text.get_text() for text in axes[0].texts] == ["+2.0", "-0.5", "+0.0", "+0.5"]
    # Nothing is cut off.
    low, high = axes[0].get_xlim()
    assert low < 0 < 4 < high


def test_where_nothing_was_run_with_and_without_the_source_there_is_no_picture(cells):
    assert draw_merits([]) is None
    assert draw_merits([cell for cell in cells if cell.line == AUTO]) is None


def test_of_a_run_they_add_up_to_what_the_tables_say(results):
    for meaning in MEANINGS:
        cells = summary_values(results, meaning.relevance)
        gain = {cell.line: cell.gain for cell in cells}
        (found, mean) = merits(cells, meaning)
        assert found.set == "digits-fac-pix"
        assert found.learner == gain[meaning.alone]
        assert found.learner + found.source == pytest.approx(gain[meaning.helped])
        np.testing.assert_allclose(mean[1:], found[1:])
    changed = [replace(cell, line="other") for cell in cells]
    assert merits(changed, LABELS) == []


def test_the_command_draws_it(tiny):
    page = (tiny / "transfer-report" / "report.html").read_text()
    assert "what the source adds to it" in page
    assert (tiny / "transfer-report" / "merit.png").stat().st_size > 1000
    assert (tiny / "transfer-report" / "merit.svg").read_bytes().startswith(b"<?xml")
