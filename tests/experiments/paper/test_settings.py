from __future__ import annotations

from collections import Counter

import pytest

from experiments.paper.runs import MethodRun
from experiments.paper.selection import LAMBDA_GRID
from experiments.paper.sets import SETS
from experiments.paper.settings import (
    EXPERIMENTS,
    METHODS,
    Settings,
    quick_settings,
    reference_runs,
    sweep_runs,
    tasks_of,
)


def _tasks(*experiments: str, **changes: object):  # type: ignore[no-untyped-def]
    settings = Settings(("digits",), **{"splits": 10, "protocols": ("paper",), **changes})  # type: ignore[arg-type]
    return tasks_of(experiments, settings)


def test_table1_has_every_method_and_both_reference_lines_at_every_length() -> None:
    tasks = _tasks("table1")
    assert sorted(task.seed for task in tasks) == list(range(10))
    for task in tasks:
        assert task.alpha == 0.5
        count = Counter((run.method, run.trained_on) for run in task.runs)
        # CCA-ITQ and CVH twice: with a small ridge and with a tuned one.
        pairs = {(m, "pairs"): 8 if m in ("CCAITQ", "CVH") else 4 for m in METHODS}
        assert count == {**pairs, ("ITQ", "all"): 4, ("LapITQPlus", "all"): 4}
        assert Counter(run.method for run in task.runs if run.tuned) == {"CCAITQ": 4, "CVH": 4}
        assert {run.bits for run in task.runs} == {8, 16, 32, 64}


def test_figure1_varies_alpha_and_figure3_the_parameters() -> None:
    assert {task.alpha for task in _tasks("figure1")} == {0.1, 0.3, 0.5, 0.7}
    assert {run.bits for task in _tasks("figure1") for run in task.runs} == {32}
    sweep = sweep_runs(Settings())
    assert [dict(run.parameters) for run in sweep["lambda1"]] == [{"lambda1": v, "lambda2": 0.01} for v in LAMBDA_GRID]
    assert [dict(run.parameters) for run in sweep["lambda2"]] == [{"lambda1": 0.01, "lambda2": v} for v in LAMBDA_GRID]
    tasks = _tasks("figure3")
    assert len(tasks) == 3
    assert {MethodRun("ITQ", 32), MethodRun("ITQ", 32, "all")} < set(tasks[0].runs)


def test_a_run_that_several_experiments_need_is_done_once() -> None:
    for task in _tasks(*EXPERIMENTS):
        assert len(set(task.runs)) == len(task.runs)
    together = sum(len(task.runs) for task in _tasks(*EXPERIMENTS))
    assert together < sum(len(task.runs) for name in EXPERIMENTS for task in _tasks(name))


def test_all_rows_of_every_set_are_kept_and_only_the_sweep_of_large_sets_is_shorter() -> None:
    settings = Settings()
    assert settings.datasets == tuple(SETS)
    assert settings.protocols == settings.sweep_protocols == ("paper",)
    assert {settings.data(name).max_rows for name in SETS} == {None}
    assert settings.data("bbc") == SETS["bbc"].data
    assert settings.splits == 10
    assert (settings.n_sweep_splits("ddtp"), settings.n_sweep_splits("bbc")) == (1, 3)
    assert Settings(splits=2).n_sweep_splits("bbc") == 2
    assert quick_settings().data("digits").max_rows == 1000
    # LapITQ+ on all target rows is left out where there are many.
    assert [run.method for run in reference_runs("ddtp", 8)] == ["ITQ"]


def test_splits_come_one_after_the_other_and_name_their_set() -> None:
    tasks = _tasks(*EXPERIMENTS, protocols=("paper", "standard"))
    assert [task.seed for task in tasks] == sorted(task.seed for task in tasks)
    assert {task.dataset for task in tasks} == {"digits"}
    swept = {task.protocol for task in tasks for run in task.runs if run.parameters}
    assert swept == {"paper"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocols": ("author",)}, "protocol='author'"),
        ({"alphas": (0.1, 1.2)}, "alpha=1.2"),
        ({"bits": (0,)}, "bits=0"),
        ({"splits": 0}, "splits=0"),
    ],
)
def test_unfit_settings_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _tasks("table1", **changes)
    with pytest.raises(ValueError, match="experiment='table2'"):
        _tasks("table2")
