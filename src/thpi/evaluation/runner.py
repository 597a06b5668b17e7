"""Running the tasks of the paper's experiments that have results missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from thpi.evaluation.experiment import Task, measured, run_task
from thpi.evaluation.pool import run_all
from thpi.evaluation.store import ResultStore

__all__ = ["pending_tasks", "run_tasks"]


def pending_tasks(tasks: Iterable[Task], store: ResultStore) -> list[Task]:
    """Those tasks of which some result is missing."""
    return [task for task in tasks if len(measured(task, store)) < len(set(task.runs))]


def run_tasks(
    tasks: Sequence[Task],
    store: ResultStore,
    *,
    data_home: str | None = None,
    workers: int | None = None,
    on_done: Callable[[Task], None] | None = None,
) -> None:
    """Run all tasks that have results missing, as :func:`thpi.evaluation.pool.run_all` does.

    Parameters
    ----------
    tasks : the work; finished parts are skipped.
    store : where results are kept.
    data_home : folder of the data sets.
    workers : number of processes; None means one a core. 1 runs within this process.
    on_done : called with each task that is finished.
    """
    todo = pending_tasks(tasks, store)
    done = on_done or (lambda task: None)
    run_all(run_task, todo, store, data_home=data_home, workers=workers, on_done=done)
