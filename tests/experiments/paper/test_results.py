from __future__ import annotations

import numpy as np

from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.settings import METHODS


def test_every_cell_of_the_quick_run_has_a_value_for_every_meaning(results: Results) -> None:
    assert results.datasets == ("digits",)
    assert results.protocols == ("paper", "standard")
    assert results.kinds("digits", "paper") == ("target", "labels", "source")
    for protocol in results.protocols:
        for alpha in (0.1, 0.5):
            for method in METHODS:
                values = results.splits("digits", protocol, alpha, MethodRun(method, 16), "labels")
                assert values.shape == (2,)
                assert ((values > 0) & (values <= 100)).all()


def test_sizes_are_those_of_the_split(results: Results) -> None:
    facts = results.facts("digits", "standard", 0.5)
    assert (facts["n_rows"], facts["n_train"], facts["n_queries"], facts["n_database"]) == (1000, 500, 50, 950)
    assert results.facts("digits", "paper", 0.5)["n_database"] == 450
    assert results.facts("digits", "paper", 0.9) == {}


def test_precision_is_ordered_by_k_up_to_the_database(results: Results) -> None:
    curve = results.precision_at("digits", "paper", 0.5, MethodRun("ITQ", 16))
    assert list(curve) == [1, 10, 20, 30, 40, 50, *range(100, 451, 50)]
    assert curve[1] > curve[450]
    by_split = results.precision_splits("digits", "paper", 0.5, MethodRun("ITQ", 16))
    assert by_split.shape == (2, len(curve))
    np.testing.assert_allclose(by_split.mean(axis=0), list(curve.values()))
    long = results.precision_at("digits", "paper", 0.1, MethodRun("ITQ", 16))
    assert max(long) == 500


def test_what_was_not_run_is_empty(results: Results) -> None:
    assert results.mean("digits", "paper", 0.5, MethodRun("ITQ", 64)) is None
    assert results.splits("bbc", "paper", 0.5, MethodRun("ITQ", 8)).size == 0
    np.testing.assert_array_equal(results.splits("digits", "paper", 0.5, MethodRun("ITQ", 8), "grades"), [])
