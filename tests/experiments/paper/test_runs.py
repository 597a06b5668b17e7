from __future__ import annotations

import pytest

from experiments.harness.store import config_key
from experiments.paper.published import METHOD_TITLES
from experiments.paper.runs import TUNED, MethodRun
from thpi import HASHERS


def test_all_that_a_fit_hangs_on_is_in_its_key() -> None:
    runs = [MethodRun(method, bits, rows) for method in HASHERS for bits in (8, 16) for rows in ("pairs", "all")]
    runs += [MethodRun("LapITQPlus", 8, parameters=(("lambda1", 0.0), ("lambda2", value))) for value in (0.0, 0.1)]
    runs += [MethodRun(method, bits, tuned=True) for method in ("CCAITQ", "CVH") for bits in (8, 16)]
    assert len({config_key(run.to_dict()) for run in runs}) == len(runs)
    shown = [run for run in runs if run.bits == 8 and not run.parameters and run.method in METHOD_TITLES]
    assert len({run.label for run in runs if run.bits == 8}) == len([run for run in runs if run.bits == 8])
    assert len({run.title for run in shown}) == len(shown)


def test_defaults_of_the_method_are_part_of_the_key() -> None:
    values = MethodRun("ITQPlus", 8).to_dict()["parameters"]
    assert values["lambda1"] == "selected"
    assert set(values) == set(HASHERS["ITQPlus"]().get_params())


@pytest.mark.parametrize("method", ["CCAITQ", "CVH"])
def test_the_ridge_is_small_and_fixed_or_tuned(method: str) -> None:
    fixed, tuned = MethodRun(method, 8), MethodRun(method, 8, tuned=True)
    assert (fixed.selected, tuned.selected) == (False, True)
    assert (fixed.hasher().ridge, fixed.hasher().fill) == (0.1, "pca")
    assert (tuned.hasher(ridge=10.0).ridge, tuned.hasher(ridge=10.0).fill) == (10.0, "pca")
    assert fixed.to_dict()["parameters"]["ridge"] == 0.1
    assert tuned.to_dict()["parameters"]["ridge"] == "selected"
    assert tuned.title == f"{fixed.title}, tuned"


def test_what_is_selected_is_what_the_method_has() -> None:
    for method, names in TUNED.items():
        run = MethodRun(method, 8, tuned=method in ("CCAITQ", "CVH"))
        selected = {name for name, value in run.to_dict()["parameters"].items() if value == "selected"}
        assert selected == set(names)
    sweep = MethodRun("LapITQPlus", 8, parameters=(("lambda1", 0.5), ("lambda2", 0.0)))
    assert not sweep.selected
    assert "selected" not in sweep.to_dict()["parameters"].values()
    assert not MethodRun("ITQ", 8).selected


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="method='KNN' is not known"):
        MethodRun("KNN", 8)
