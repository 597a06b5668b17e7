from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from experiments.harness.tables import TABLES
from experiments.paper.compare import SIX, agreement, cells
from experiments.paper.figures import draw_overview
from experiments.paper.page import PaperReport
from experiments.paper.published import figure1, table1
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.settings import Settings, quick_settings

Change = Callable[[float, MethodRun, float], "float | None"]


class Stub(Results):
    """Published values of BBC, each changed by ``change(alpha, run, published)``."""

    def __init__(self, change: Change, settings: Settings | None = None) -> None:
        self.settings, self._change = settings or Settings(("bbc",)), change
        self._entries = {("bbc", protocol, 0.5): {} for protocol in self.settings.protocols}

    def splits(self, dataset: str, protocol: str, alpha: float, run: MethodRun, kind: str = "target") -> Any:
        published = (
            table1().get(("BBC", run.bits, run.method))
            if alpha == 0.5
            else figure1().get(("BBC", alpha, run.method))
            if run.bits == 32
            else None
        )
        value = None if published is None else self._change(alpha, run, published)
        return np.empty(0) if value is None else np.array([value - 0.5, value + 0.5])


def test_the_published_values_agree_with_themselves() -> None:
    found = agreement(Stub(lambda alpha, run, value: value), "bbc")
    assert found is not None
    assert found.distance["table1"] == (pytest.approx(0), 24)
    # Figure 1 was read off a drawing: at alpha .5 it is not quite Table 1, elsewhere the values are its own.
    off = [abs(figure1()["BBC", 0.5, method] - table1()["BBC", 32, method]) for method in SIX]
    assert found.distance["figure1"] == (pytest.approx(sum(off) / 24), 24)
    for place, title in enumerate(("LSH", "DSH", "CCA-ITQ", "CVH", "ITQ+", "LapITQ+")):
        assert found.distance[title] == (pytest.approx(off[place] / 8), 8)
    assert found.lsh_near == (8, 8)
    assert found.tau == pytest.approx(1)
    assert found.rising == ("LSH", "DSH", "CCA-ITQ", "CVH", "ITQ+", "LapITQ+")


def test_distances_are_means_of_absolute_differences() -> None:
    # Table 1 only: LSH 3 points below, CVH 1 point above at 8 bits, the others as published.
    def change(alpha: float, run: MethodRun, value: float) -> float | None:
        if alpha != 0.5:
            return None
        return value - 3 * (run.method == "LSH") + (run.method == "CVH" and run.bits == 8)

    found = agreement(Stub(change), "bbc")
    assert found is not None
    assert found.distance["table1"] == (pytest.approx((4 * 3 + 1) / 24), 24)
    # The point of Figure 1 at alpha .5 is ours at 32 bits too: 21.3 in the figure, 21.71 - 3 ours.
    assert found.distance["LSH"] == (pytest.approx((4 * 3 + abs(21.71 - 3 - 21.3)) / 5), 5)
    assert found.lsh_near == (0, 5)
    assert found.rising == ()  # one point is no curve


def test_a_cell_two_points_away_is_still_near() -> None:
    found = agreement(Stub(lambda a, run, value: value + 2.0 if run.bits == 8 else value + 2.5), "bbc")
    assert found is not None
    # 16.00 at 8 bits is 2 points from 14.00; at alpha .5 the figure has 21.3, and 24.21 is 2.9 from it.
    assert found.lsh_near == (1, 8)


def test_tau_counts_pairs_of_methods_in_the_published_order() -> None:
    # At 8 bits DSH (20.28) and CCA-ITQ (21.58), neighbours in the order, change places: 1 of 15 pairs is discordant.
    swapped = {"DSH": 21.58, "CCAITQ": 20.28}

    def change(alpha: float, run: MethodRun, value: float) -> float:
        return swapped.get(run.method, value) if (alpha, run.bits) == (0.5, 8) else value

    found = agreement(Stub(change), "bbc")
    assert found is not None
    assert found.tau == pytest.approx((13 / 15 + 3) / 4)
    reversed_ = agreement(Stub(lambda a, run, value: -value), "bbc")
    assert reversed_ is not None
    assert reversed_.tau == pytest.approx(-1)
    assert reversed_.rising == ()
    five = agreement(Stub(lambda a, run, value: None if run.method == "CVH" else value), "bbc")
    assert five is not None
    assert five.tau is None


def test_a_curve_that_ends_below_its_begin_does_not_rise() -> None:
    found = agreement(Stub(lambda a, run, value: 0.0 if (run.method, a) == ("DSH", 0.7) else value), "bbc")
    assert found is not None
    assert "DSH" not in found.rising
    assert len(found.rising) == 5


def test_only_the_papers_protocol_alpha_and_code_length_are_compared() -> None:
    same: Change = lambda alpha, run, value: value  # noqa: E731
    assert cells(Stub(same, Settings(("bbc",), protocols=("standard",))), "bbc") == []
    assert agreement(Stub(same, Settings(("bbc",), protocols=("standard",))), "bbc") is None
    assert agreement(Stub(lambda *_: None), "bbc") is None
    # A quick run has figures of 16 bits: the published ones are of 32.
    quick = cells(Stub(lambda a, run, value: value if run.bits < 32 else None, quick_settings(("bbc",))), "bbc")
    assert {(cell.table, cell.bits) for cell in quick} == {("table1", 8), ("table1", 16)}
    # Values of another alpha are not set beside Table 1.
    other = Stub(lambda a, run, value: value if a == 0.3 else None, Settings(("bbc",), alphas=(0.3,), table_alpha=0.3))
    assert {cell.table for cell in cells(other, "bbc")} == {"figure1"}
    assert all(cell.difference == pytest.approx(cell.ours - cell.published) for cell in quick)


def test_the_overview_has_a_dot_for_every_cell() -> None:
    stub = Stub(lambda alpha, run, value: value + 1.5)
    (axis, *_) = draw_overview(stub, "paper").axes
    lines = {line.get_label(): line for line in axis.lines if line.get_linestyle() == "None"}
    assert list(lines) == ["LSH", "DSH", "CCA-ITQ", "CVH", "ITQ+", "LapITQ+"]
    for method, line in zip(SIX, lines.values(), strict=True):
        mine = [cell for cell in cells(stub, "bbc") if cell.method == method]
        np.testing.assert_array_equal(line.get_xdata(), [cell.published for cell in mine])
        np.testing.assert_array_equal(line.get_ydata(), [cell.ours for cell in mine])
        assert len(mine) == 8
    assert axis.get_title().startswith("bbc")


def test_the_overview_is_drawn_where_there_is_something_to_compare() -> None:
    assert "overview-paper" in _drawn(Stub(lambda alpha, run, value: value))
    assert "overview-paper" not in _drawn(Stub(lambda alpha, run, value: None))


def _drawn(stub: Stub) -> set[str]:
    stub.experiments = ("table1",)
    return set(PaperReport().figures(stub))


def test_agreement_is_a_table_of_comparable_sets() -> None:
    table = TABLES["paper"]["agreement"]
    stub = Stub(lambda alpha, run, value: value - 3 * (run.method == "LSH"))
    stub.experiments = ("table1",)
    assert table.wanted(stub)
    assert table.records is not None
    found = {record["what"]: (record["value"], record["cells"]) for record in table.records(stub)}
    assert found["distance, table1"] == (0.5, 24)
    assert found["LSH within 2 points"] == (0, 8)
    assert found["methods whose curve over alpha rises"] == (6, 6)
    # LSH was last of the six at every length, and stays so.
    assert found["Kendall's tau with the published order"] == (1.0, 4)
    alone = Stub(lambda alpha, run, value: value, Settings(("digits",)))
    alone.experiments, alone._entries = ("table1",), {("digits", "paper", 0.5): {}}
    assert not table.wanted(alone)
