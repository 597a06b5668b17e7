"""Timing side by side: every comparison runs in one process, alternating, so that both sides see the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits


def best_times(calls: dict[str, Callable[[], Any]], repeats: int = 5) -> dict[str, float]:
    """Least wall time of each call over alternating repeats, on one thread."""
    times: dict[str, float] = dict.fromkeys(calls, float("inf"))
    with threadpool_limits(1):
        for _ in range(repeats):
            for name, call in calls.items():
                start = time.perf_counter()
                call()
                times[name] = min(times[name], time.perf_counter() - start)
    return times


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:10.1f} ms"
