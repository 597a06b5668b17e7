"""A process pool for tasks whose results are kept on disk: the outcome does not hang on the number of processes."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from importlib import import_module
from typing import Any, TypeVar

from thpi.evaluation.store import ResultStore

__all__ = ["StorageFullError", "run_all"]

T = TypeVar("T")
Work = Callable[[T, ResultStore, "str | None"], None]


class StorageFullError(OSError):
    """The disk filled up during a run; what was finished is kept."""


def run_all(
    work: Work[T],
    tasks: Sequence[T],
    store: ResultStore,
    *,
    data_home: str | None = None,
    workers: int | None = None,
    on_done: Callable[[T], None] = lambda task: None,
) -> None:
    """Call ``work(task, store, data_home)`` for all tasks, in ``workers`` processes (None: one a core; 1: in this one).

    ``work`` is a function at the top of a module; it writes to the store what it finishes. Every task runs with BLAS
    and OpenMP on one thread, whatever ``workers`` is: sums are then formed in one order, and the results are the same
    to the last bit. Stopped by Ctrl-C or an error, the call leaves finished results in the store.
    """
    workers = workers if workers is not None else os.cpu_count() or 1
    if workers < 1:
        raise ValueError(f"workers={workers!r} must be a positive integer.")
    try:
        if workers == 1 or len(tasks) < 2:
            with _single_threaded():
                for task in tasks:
                    work(task, store, data_home)
                    on_done(task)
        else:
            _run_in_pool(work, tasks, store, data_home, min(workers, len(tasks)), on_done)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise StorageFullError(
            error.errno,
            f"no space left for results in {store.folder}. Finished results are kept; free some space and run the "
            "same command again to go on",
        ) from error


def _run_in_pool(
    work: Work[T],
    tasks: Sequence[T],
    store: ResultStore,
    data_home: str | None,
    workers: int,
    on_done: Callable[[T], None],
) -> None:
    # "spawn": a forked child would inherit the locks of BLAS and progress-bar threads in whatever state they are.
    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    try:
        waiting: dict[Future[None], T] = {
            pool.submit(_run_in_worker, work, task, str(store.folder), data_home): task for task in tasks
        }
        while waiting:
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                on_done(waiting.pop(future))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        # Files are written whole or not at all, so workers may be stopped in the middle of a fit.
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    pool.shutdown()


def _run_in_worker(work: Work[T], task: T, folder: str, data_home: str | None) -> None:
    work(task, ResultStore(folder), data_home)


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
