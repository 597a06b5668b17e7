"""Running tasks whose results are kept on disk: the outcome does not depend on the number of processes."""

from __future__ import annotations

import errno
import os
import signal
import threading
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol, TypeVar

from experiments.harness.store import ResultStore

T = TypeVar("T")
Work = Callable[[T, ResultStore, "str | None"], None]


class Task(Protocol):
    """All fits of one split: the unit of work that is given to a process."""

    @property
    def label(self) -> str:
        """What is shown while tasks run."""

    def left(self, store: ResultStore) -> int:
        """Number of fits without a result."""

    def run(self, store: ResultStore, data_home: str | None = None) -> None:
        """Do the fits that have no result yet, and keep each result at once."""


class StorageFullError(OSError):
    """The disk filled up during a run; finished results are kept."""


def run_task(task: Task, store: ResultStore, data_home: str | None = None) -> None:
    """Do the fits of a task that have no result yet; for :func:`run_all`."""
    task.run(store, data_home)


def run_all(
    work: Work[T],
    tasks: Sequence[T],
    store: ResultStore,
    *,
    data_home: str | None = None,
    workers: int | None = None,
    on_done: Callable[[T], None] = lambda task: None,
) -> None:
    """Call ``work(task, store, data_home)`` for all tasks in ``workers`` processes (None: one per core; 1: this one).

    ``work`` is a function at the top of a module; it writes what it finishes to the store. Every task runs with BLAS
    and OpenMP on one thread, whatever ``workers`` is: sums are then formed in one order, and results are equal to the
    last bit. After Ctrl-C or an error, finished results are in the store.
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
    from joblib import Parallel, delayed

    # Files are written whole or not at all, so joblib may stop its workers in the middle of a fit.
    pool = Parallel(n_jobs=workers, backend="loky", batch_size=1, return_as="generator_unordered")
    call = delayed(_run_in_worker)
    for place in pool(call(place, work, task, str(store.folder), data_home) for place, task in enumerate(tasks)):
        on_done(tasks[place])


def _run_in_worker(place: int, work: Work[T], task: T, folder: str, data_home: str | None) -> int:
    if threading.current_thread() is threading.main_thread():
        # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        work(task, ResultStore(folder), data_home)
    return place


def _single_threaded() -> Any:
    """Pin BLAS and OpenMP to one thread; only loaded libraries can be pinned, so they are loaded first."""
    for library in ("faiss", "scipy.linalg", "sklearn.cluster", "sklearn.decomposition"):
        import_module(library)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)
