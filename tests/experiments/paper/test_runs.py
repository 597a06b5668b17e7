from __future__ import annotations

import pytest

from experiments.harness.store import config_key
from experiments.paper.runs import MethodRun
from thpi import HASHERS


def test_all_that_a_fit_hangs_on_is_in_its_key() -> None:
    runs = [MethodRun(method, bits, rows) for method in HASHERS for bits in (8, 16) for rows in ("pairs", "all")]
    runs += [MethodRun("LapITQPlus", 8, parameters=(("lambda1", 0.0), ("lambda2", value))) for value in (0.0, 0.1)]
    assert len({config_key(run.to_dict()) for run in runs}) == len(runs)


def test_defaults_of_the_method_are_part_of_the_key() -> None:
    values = MethodRun("ITQPlus", 8).to_dict()["parameters"]
    assert values["lambda1"] == "selected"
    assert set(values) == set(HASHERS["ITQPlus"]().get_params())


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="method='KNN' is not known"):
        MethodRun("KNN", 8)
