from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.paper.claims import (
    Finding,
    Verdict,
    bbc_order,
    beats_baselines,
    distance_to_table1,
    gain_at_small_alpha,
    insensitive,
    judge_claims,
    laplacian_gain,
    precision_at_all_k,
)
from experiments.paper.published import figure1, table1
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.settings import Settings
from thpi.datasets import info


class Numbers(Results):
    """Results that come from a rule instead of a run: ``value(alpha, run)`` gives the figure of a split."""

    def __init__(self, value: Any, precision: Any = None) -> None:
        self.settings = Settings(("bbc",), protocols=("authors",))
        self._value, self._precision = value, precision
        self._entries = {("bbc", "authors", alpha): {} for alpha in self.settings.alphas}

    def splits(self, dataset: str, protocol: str, alpha: float, run: MethodRun, kind: str = "target"):  # type: ignore[no-untyped-def]
        value = self._value(alpha, run)
        return np.empty(0) if value is None else value + np.array([-0.1, 0.0, 0.1])

    def precision_at(self, dataset: str, protocol: str, alpha: float, run: MethodRun) -> dict[int, float]:
        return {k: self._precision(k, run) for k in (1, 10, 100)}


def _published(alpha: float, run: MethodRun) -> float | None:
    return table1().get(("BBC", run.bits, run.method), 20.0)


def test_the_papers_own_numbers_confirm_what_they_are_said_to_show() -> None:
    paper = Numbers(_published)
    assert beats_baselines(paper, "authors", "bbc").outcome == "confirmed"
    assert laplacian_gain(paper, "authors", "bbc").outcome == "confirmed"
    assert bbc_order(paper).outcome == "confirmed"
    distance = distance_to_table1(paper, "bbc")
    assert distance == (pytest.approx(0), 24)


def test_the_papers_figure_gives_its_gains_by_alpha() -> None:
    finding = gain_at_small_alpha(
        Numbers(lambda alpha, run: figure1().get(("BBC", alpha, run.method))), "authors", "bbc"
    )
    # 25.3 - 21.5 at .1, 27.1 - 23.9 at .3, 30.3 - 27.1 at .5, 33.1 - 30.0 at .7
    assert finding.outcome == "confirmed"
    assert "+3.8 at 0.1, +3.2 at 0.3, +3.2 at 0.5, +3.1 at 0.7" in finding.sentence


def test_one_lost_comparison_is_enough_against_claim_1() -> None:
    def value(alpha: float, run: MethodRun) -> float:
        if (run.method, run.bits) == ("DSH", 64):
            return 29.6  # just above ITQ+ at 64 bits, below LapITQ+
        return _published(alpha, run) or 0.0

    finding = beats_baselines(Numbers(value), "authors", "bbc")
    assert finding.outcome == "not confirmed"
    assert "ahead in 31 of 32" in finding.sentence
    assert "ITQ+ against DSH at 64 bits" in finding.sentence


def test_a_gain_below_one_point_is_not_one_to_two_points() -> None:
    finding = laplacian_gain(Numbers(lambda a, run: 30.6 if run.method == "LapITQPlus" else 30.0), "authors", "bbc")
    assert finding.outcome == "not confirmed"
    assert "+0.60" in finding.sentence


def test_sensitivity_is_the_range_over_the_grid() -> None:
    flat = Numbers(lambda a, run: 30 + 1.9 * dict(run.parameters).get("lambda1", 0) / 2)
    steep = Numbers(lambda a, run: 30 + 2.1 * dict(run.parameters).get("lambda2", 0) / 2)
    assert insensitive(flat, "authors", "bbc").outcome == "confirmed"
    found = insensitive(steep, "authors", "bbc")
    assert found.outcome == "not confirmed"
    assert "2.1 points over lambda2" in found.sentence
    assert insensitive(Numbers(lambda a, run: None), "authors", "bbc").outcome == "not testable here"


def test_precision_must_hold_at_every_k() -> None:
    ours = {"ITQPlus": 5.0, "LapITQPlus": 6.0}
    good = Numbers(_published, lambda k, run: ours.get(run.method, 4.0))
    assert precision_at_all_k(good, "authors", "bbc").outcome == "confirmed"
    bad = Numbers(_published, lambda k, run: 9.0 if (run.method, k) == ("CVH", 10) else ours.get(run.method, 4.0))
    found = precision_at_all_k(bad, "authors", "bbc")
    assert found.outcome == "not confirmed"
    assert "2 of 3 values of K" in found.sentence
    assert "K = 10" in found.sentence


def test_a_verdict_needs_every_tested_set() -> None:
    yes, no, open_ = (
        Finding(name, outcome, "")  # type: ignore[arg-type]
        for name, outcome in (("a", "confirmed"), ("b", "not confirmed"), ("c", "not testable here"))
    )
    assert Verdict("x", "y", (yes, open_)).outcome == "confirmed"
    assert Verdict("x", "y", (yes, no)).outcome == "not confirmed"
    assert Verdict("x", "y", (open_,)).outcome == "not testable here"
    assert Verdict("x", "y", (yes, no)).sentence == "x: not confirmed (confirmed on a; not confirmed on b)."


@pytest.mark.slow
def test_all_five_claims_are_judged_on_a_real_run(results: Results) -> None:
    verdicts = judge_claims(results, "authors")
    assert len(verdicts) == 5
    assert all(verdict.outcome in ("confirmed", "not confirmed") for verdict in verdicts)
    assert judge_claims(results, "standard")[3].outcome == "not testable here"
    assert info("digits").paper is None
    assert distance_to_table1(results, "digits") is None
