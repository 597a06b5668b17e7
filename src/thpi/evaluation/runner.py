"""Running many tasks on several cores, so that the outcome does not hang on how many."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from importlib import import_module
from typing import Any

from thpi.evaluation.experiment import Task, measured, run_task
from thpi.evaluation.store import ResultStore

__all__ = ["StorageFullError", "pending_tasks", "run_tasks"]

Progress = Callable[[Task], None]


class StorageFullError(OSError):
    """The disk filled up during a run; what was finished is kept."""


def pending_tasks(tasks: Iterable[Task], store: ResultStore) -> list[Task]:
    """Those tasks of which some result is missing."""
    return [task for task in tasks if len(measured(task, store)) < len(set(task.runs))]


def run_tasks(
    tasks: Sequence[Task],
    store: ResultStore,
    *,
    data_home: str | None = None,
    workers: int | None = None,
    on_done: Progress | None = None,
) -> None:
    """Run all tasks that have results missing.

    Parameters
    ----------
    tasks : the work; finished parts are skipped.
    store : where results are kept.
    data_home : folder of the data sets.
    workers : number of processes; None means one a core. 1 runs within this process.
    on_done : called with each task that is finished.

    Every task runs with BLAS and OpenMP on one thread, whatever ``workers`` is: sums are then formed in one order,
    and the results are the same to the last bit. Stopped by Ctrl-C or an error, the call leaves finished results
    in the store, and the next call goes on from there.
    """
    workers = workers if workers is not None else os.cpu_count() or 1
    if workers < 1:
        raise ValueError(f"workers={workers!r} must be a positive integer.")
    todo = pending_tasks(tasks, store)
    done = on_done or (lambda task: None)
    try:
        if workers == 1 or len(todo) < 2:
            with _single_threaded():
                for task in todo:
                    run_task(task, store, data_home)
                    done(task)
        else:
            _run_in_pool(todo, store, data_home, min(workers, len(todo)), done)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise StorageFullError(
            error.errno,
            f"no space left for results in {store.folder}. Finished results are kept; free some space and run the "
            "same command again to go on",
        ) from error


def _run_in_pool(todo: Sequence[Task], store: ResultStore, data_home: str | None, workers: int, done: Progress) -> None:
    # "spawn": a forked child would inherit the locks of BLAS and progress-bar threads in whatever state they are.
    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    try:
        waiting: dict[Future[None], Task] = {
            pool.submit(_run_in_worker, task, str(store.folder), data_home): task for task in todo
        }
        while waiting:
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                done(waiting.pop(future))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        # Files are written whole or not at all, so workers may be stopped in the middle of a fit.
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    pool.shutdown()


def _run_in_worker(task: Task, folder: str, data_home: str | None) -> None:
    run_task(task, ResultStore(folder), data_home)


def _start_worker() -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", UserWarning)
    global _limit
    _limit = _single_threaded()


_limit: Any = None


def _single_threaded() -> Any:
    """Pin BLAS and OpenMP to one thread; only libraries that are loaded can be pinned, so they are loaded first."""
    for library in ("faiss", "scipy.linalg", "sklearn.cluster", "sklearn.decomposition"):
        import_module(library)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
