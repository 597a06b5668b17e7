"""Threads for what runs without the interpreter's lock (compiled kernels, BLAS): as many as libraries may use."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

__all__ = ["n_threads", "one_blas_thread", "own_threads", "run_in_order", "stream_in_order"]

T = TypeVar("T")


_own: ContextVar[int] = ContextVar("_own", default=0)


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def n_threads() -> int:
    """Give the number of threads a kernel may use: the least that is set for BLAS and OpenMP in this process.

    So ``OMP_NUM_THREADS`` and ``threadpoolctl.threadpool_limits`` hold for kernels too.

    >>> from threadpoolctl import threadpool_limits
    >>> with threadpool_limits(1):
    ...     n_threads()
    1
    """
    if _own.get():
        return _own.get()
    limits = [library["num_threads"] for library in _controller().info()]
    return max(1, int(min(limits, default=os.cpu_count() or 1)))


@cache
def _pool(n: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n, thread_name_prefix="thpi-kernel")


if hasattr(os, "register_at_fork"):
    # A forked child has the pool but not its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run_in_order(tasks: Iterable[Callable[[], T]], n: int) -> list[T]:
    """Run tasks on ``n`` threads and give their results in order.

    The tasks are drawn in the calling thread, one at a time and only while fewer than ``n`` are under way: drawing may
    be work of its own and hold memory, and with it never more than ``n`` threads are busy.

    >>> run_in_order((lambda i=i: i * i for i in range(4)), 2)
    [0, 1, 4, 9]
    """
    if n == 1:
        return [task() for task in tasks]
    results: list[Future[T]] = []
    running: set[Future[T]] = set()
    try:
        for task in tasks:
            results.append(_pool(n).submit(task))
            running.add(results[-1])
            if len(running) == n:
                running = wait(running, return_when=FIRST_COMPLETED).not_done
        return [result.result() for result in results]
    finally:
        # An error while drawing leaves tasks that read arrays of the caller; let them end first.
        wait(running)


def stream_in_order(tasks: Iterable[Callable[[], T]], n: int) -> Iterator[T]:
    """Run tasks on ``n`` threads and yield their results in order, with at most ``2 n`` of them held at a time.

    >>> list(stream_in_order((lambda i=i: i * i for i in range(4)), 2))
    [0, 1, 4, 9]
    """
    if n == 1:
        yield from (task() for task in tasks)
        return
    results: deque[Future[T]] = deque()
    try:
        for task in tasks:
            results.append(_pool(n).submit(task))
            if len(results) == 2 * n:
                yield results.popleft().result()
        while results:
            yield results.popleft().result()
    finally:
        wait(results)


def one_blas_thread() -> Any:
    """Give a context in which BLAS has one thread: threads that each run products do not wait for each other then.

    >>> with one_blas_thread():
    ...     n_threads()
    1
    """
    return _controller().limit(limits=1)


@contextmanager
def own_threads() -> Iterator[None]:
    """Give BLAS one thread and kernels as many as BLAS had, for a loop of blocks and of small matrices in turn.

    The threads of BLAS wait for more work at full speed, for longer than a block takes: a small product or SVD that
    wakes them takes a core from the blocks after it.

    >>> before = n_threads()
    >>> with own_threads():
    ...     n_threads() == before
    True
    """
    n = n_threads()
    if _own.get():
        yield
        return
    with one_blas_thread():
        _own.set(n)
        try:
            yield
        finally:
            _own.set(0)
