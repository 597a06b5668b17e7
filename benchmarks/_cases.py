"""A comparison of speeds: what runs, against what, and the target. One :class:`Case` is one line of the table.

A file of cases (``benchmarks/speed_*.py``) has a function ``cases(full)`` that yields them; data are made when a case
is requested, so that only one case's data are in memory. With ``full=False`` all cases take some minutes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

__all__ = ["Case", "Measured", "limited_threads", "measure"]

# A first run that takes longer than this needs no warming up: it counts as a repetition.
_LONG_SECONDS = 10.0


@dataclass(frozen=True)
class Case:
    """``ours`` against ``other``; the ratio is time of ours over time of other.

    ``target`` is the largest ratio allowed: 1.2 for "at most 1.2 times its time", 1 / 3 for "at least 3 times faster".
    ``check`` is called once with both results and returns a remark on their quality (loss, objective), or raises.
    ``work`` is how many times the work of ``other`` is done by ``ours``, where the other side would take too long for
    all of it: its time is multiplied by this. ``operations`` (floating point) and ``bytes_read`` are the
    least that any implementation needs: divided by the peaks of the machine they give the least time, and the table
    says how near to it ours is.
    """

    what: str
    against: str
    target: float
    ours: Callable[[], Any]
    other: Callable[[], Any]
    check: Callable[[Any, Any], str] | None = None
    repeats: int = 5
    work: float = 1.0
    operations: float = 0.0
    bytes_read: float = 0.0


@dataclass(frozen=True)
class Measured:
    """Median seconds of both sides, the median of the ratios repetition by repetition, and the remark."""

    ours: float
    other: float
    ratio: float
    remark: str


def measure(case: Case, n_threads: int) -> Measured:
    """Run both sides in turn, ``case.repeats`` times, after one run of each to warm up.

    If the first runs take long, they also count as the first repetition.
    """
    times: list[tuple[float, float]] = []
    with limited_threads(n_threads):
        first, ours = _timed(case.ours)
        second, other = _timed(case.other)
        remark = case.check(first, second) if case.check else ""
        del first, second
        if max(ours, other) > _LONG_SECONDS:
            times.append((ours, other))
        while len(times) < case.repeats:
            times.append((_timed(case.ours)[1], _timed(case.other)[1]))
    ours, other = statistics.median(a for a, _ in times), case.work * statistics.median(b for _, b in times)
    return Measured(ours, other, statistics.median(a / (case.work * b) for a, b in times), remark)


@contextmanager
def limited_threads(n: int) -> Iterator[None]:
    """Let BLAS, OpenMP, faiss and the kernels of thpi use ``n`` threads."""
    import faiss

    before = faiss.omp_get_max_threads()
    with threadpool_limits(n):
        faiss.omp_set_num_threads(n)  # faiss has a pool of its own
        try:
            yield
        finally:
            faiss.omp_set_num_threads(before)


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start
