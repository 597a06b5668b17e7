"""Many splits on several cores, one thread each; what is finished stays, whatever happens to the rest."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

from thpi.evaluation import ResultStore
from thpi.evaluation.runner import _single_threaded, _start_worker
from thpi.transfer_report.task import TransferTask, run_transfer_task

__all__ = ["run_transfer_tasks"]


def run_transfer_tasks(
    tasks: Sequence[TransferTask],
    store: ResultStore,
    *,
    data_home: str | None = None,
    jobs: int | None = None,
    on_done: Callable[[TransferTask], None] = lambda task: None,
) -> None:
    """Run what is missing of the tasks in ``jobs`` processes (None: one a core; 1: in this process).

    The outcome does not hang on ``jobs``: BLAS and OpenMP have one thread in any case.
    """
    jobs = jobs if jobs is not None else os.cpu_count() or 1
    if jobs < 1:
        raise ValueError(f"jobs={jobs!r} must be a positive integer.")
    if jobs == 1 or len(tasks) < 2:
        with _single_threaded():
            for task in tasks:
                run_transfer_task(task, store, data_home)
                on_done(task)
        return
    before = set(multiprocessing.active_children())
    # "spawn", as in thpi.evaluation.runner: a forked child would inherit locks of BLAS and progress-bar threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=context, initializer=_start_worker)
    try:
        waiting: dict[Future[None], TransferTask] = {
            pool.submit(_work, task, str(store.folder), data_home): task for task in tasks
        }
        while waiting:
            ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                future.result()
                on_done(waiting.pop(future))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()  # files are written whole or not at all
        raise
    pool.shutdown()


def _work(task: TransferTask, folder: str, data_home: str | None) -> None:
    run_transfer_task(task, ResultStore(folder), data_home)
