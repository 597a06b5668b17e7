from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.harness.data import DataSpec, data_identity
from experiments.harness.pool import run_all, run_task
from experiments.harness.store import ResultStore
from experiments.paper.runs import MethodRun
from experiments.paper.selection import SelectionRule
from experiments.paper.task import PaperTask, measured

SPEC = DataSpec("digits", 300)
RULE = SelectionRule(grid=(0.0, 0.1), n_folds=2, max_pairs=100, max_iter=5)


def _tasks() -> list[PaperTask]:
    runs = tuple(MethodRun(method, 16) for method in ("LSH", "CCAITQ", "LapITQPlus"))
    return [
        PaperTask("digits", SPEC, p, 0.5, seed, runs, data_identity(SPEC), RULE)
        for p in ("paper", "followup")
        for seed in (0, 1)
    ]


def _without_seconds(tasks: list[PaperTask], store: ResultStore) -> str:
    found = [{run.label: entry for run, entry in measured(task, store).items()} for task in tasks]
    for entries in found:
        for entry in entries.values():
            del entry["seconds"]
    return json.dumps(found)


@pytest.mark.slow
def test_one_worker_and_two_give_the_same_to_the_last_digit(tmp_path: Path) -> None:
    tasks, seen = _tasks(), []
    one, two = ResultStore(tmp_path / "1"), ResultStore(tmp_path / "2")
    run_all(run_task, tasks, one, workers=1)
    run_all(run_task, tasks, two, workers=2, on_done=seen.append)
    assert _without_seconds(tasks, one) == _without_seconds(tasks, two)
    assert sorted(map(id, seen)) == sorted(map(id, tasks))
    for config in (task.fit_config(run) for task in tasks for run in task.runs):
        a, b = one.read_arrays("fits", config), two.read_arrays("fits", config)
        assert a["codes"].tobytes() == b["codes"].tobytes()
    assert not any(task.left(two) for task in tasks)


@pytest.mark.slow
def test_an_error_in_a_worker_reaches_the_caller_and_keeps_the_rest(tmp_path: Path) -> None:
    good = _tasks()[2]
    bad = PaperTask(
        "digits", SPEC, "followup", 0.1, 0, good.runs, good.identity, RULE
    )  # 30 rows have no 50th neighbour
    store = ResultStore(tmp_path)
    run_all(run_task, [good], store, workers=1)
    with pytest.raises(ValueError, match="train has 30 rows"):
        run_all(run_task, [good, bad, _tasks()[3]], store, workers=2)
    assert good.left(store) == 0


def test_the_number_of_workers_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="workers=0"):
        run_all(run_task, _tasks(), ResultStore(tmp_path), workers=0)


FULL_DISK = """
import resource, sys
from experiments.harness.data import DataSpec, data_identity
from experiments.harness.pool import StorageFullError, run_all, run_task
from experiments.harness.store import ResultStore
from experiments.paper.runs import MethodRun
from experiments.paper.task import PaperTask, measured
spec = DataSpec("digits", 300)
runs = (MethodRun("ITQ", 16),)
tasks = [PaperTask("digits", spec, "standard", 0.5, seed, runs, data_identity(spec)) for seed in (0, 1)]
store = ResultStore(sys.argv[1])
run_all(run_task, tasks[:1], store, workers=1)
done = measured(tasks[0], store)
# Codes (300 x 2 bytes) still fit, what is kept of every query does not.
resource.setrlimit(resource.RLIMIT_FSIZE, (3200, resource.RLIM_INFINITY))
try:
    run_all(run_task, tasks, store, workers=1)
except StorageFullError as error:
    print(error)
assert measured(tasks[0], store) == done and not measured(tasks[1], store)
fits = {path: path.stat().st_mtime_ns for path in store.folder.glob("fits/*")}
assert len(fits) == 2, fits
assert not list(store.folder.rglob("*.tmp"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
run_all(run_task, tasks, store, workers=1)
assert measured(tasks[1], store)
assert fits == {path: path.stat().st_mtime_ns for path in store.folder.glob("fits/*")}
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_disk_that_fills_up_keeps_what_was_finished(tmp_path: Path) -> None:
    # A limit on file sizes makes writes fail as a full disk does, at the same place.
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Finished results are kept" in done.stdout
