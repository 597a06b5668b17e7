"""Threads for what runs without the interpreter's lock (kernels, BLAS)."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["n_threads", "one_blas_thread", "own_threads", "run_in_order", "small_products", "stream_in_order"]

T = TypeVar("T")

_FEW_ROWS = 2000
_BRING_THREADS = ("scipy.linalg", "sklearn", "faiss")
_own: ContextVar[int] = ContextVar("_own", default=0)


def _controller() -> ThreadpoolController:
    return _controller_of(tuple(name in sys.modules for name in _BRING_THREADS))


@cache
def _controller_of(imported: tuple[bool, ...]) -> ThreadpoolController:
    """Find the libraries again after the import of a package that brings one of its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def n_threads() -> int:
    """Return how many threads a kernel may use: the smallest limit of BLAS and OpenMP (``OMP_NUM_THREADS``)."""
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
    """Run tasks on ``n`` threads, as :func:`stream_in_order` does, and return all results."""
    return list(stream_in_order(tasks, n))


def stream_in_order(tasks: Iterable[Callable[[], T]], n: int) -> Iterator[T]:
    """Run tasks on ``n`` threads and yield their results in order, holding at most 2 n of them at a time.

    The calling thread draws the tasks, one at a time and only while fewer than ``n`` are running: drawing may take time
    and memory of its own. joblib's threads draw tasks themselves, and its pools end with each call.

    >>> list(stream_in_order((lambda i=i: i * i for i in range(4)), 2))
    [0, 1, 4, 9]
    """
    if n == 1:
        yield from (task() for task in tasks)
        return
    results: deque[Future[T]] = deque()
    running: set[Future[T]] = set()
    try:
        for task in tasks:
            results.append(_pool(n).submit(task))
            running.add(results[-1])
            if len(running) == n:
                running = wait(running, return_when=FIRST_COMPLETED).not_done
            if len(results) == 2 * n:
                yield results.popleft().result()
        while results:
            yield results.popleft().result()
    finally:
        # After an error, tasks that still run read arrays of the caller: let them end first.
        wait(running)


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS has one thread, so that threads running products do not wait for each other."""
    return _controller().limit(limits=1)  # type: ignore[no-any-return]


def small_products(n_rows: int) -> AbstractContextManager[object]:
    """Return a context in which BLAS has one thread if there are few rows.

    Products of small matrices take longer with several threads, and much longer if other programs use the processor:
    the threads wait for each other by spinning. With one thread the last digits do not depend on their number either.
    """
    return one_blas_thread() if n_rows <= _FEW_ROWS else nullcontext()


@contextmanager
def own_threads() -> Iterator[None]:
    """Give BLAS one thread and kernels as many as BLAS had, for loops that alternate blocks and small matrices.

    Idle BLAS threads spin for longer than a block takes and keep a core from the blocks after a small product.
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
