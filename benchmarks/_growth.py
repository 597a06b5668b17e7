"""How time and memory grow with the number of rows. One :class:`Growth` is one small table.

A file of cases may have a function ``growths(full)`` that yields them. Every size runs in a process of its own, which
imports ``prepare`` by its name, makes the data, and then measures the call alone:

    def prepare(n: int) -> Callable[[], Any]:     # at the top level of the module
        X, S = pairs(n, 64, 48)
        return lambda: LapITQPlus(32).fit(X, privileged=S)

    def growths(full):
        yield Growth("LapITQ+ fit", (5_000, 20_000, 80_000), prepare, target=1.15, memory_target=1.05)

The exponent is that of the least-squares line through log time over log n: 1 is linear. Memory is the peak of the
process during the call over what it held before, data included; it is read from Linux's ``/proc``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._cases import limited_threads

__all__ = ["Grown", "Growth", "exponent", "measure_growth"]

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Growth:
    """``prepare(n)`` returns the call to measure at size ``n``; ``target`` is the largest exponent allowed."""

    what: str
    sizes: Sequence[int]
    prepare: Callable[[int], Callable[[], Any]]
    target: float
    memory_target: float | None = None
    repeats: int = 1


@dataclass(frozen=True)
class Grown:
    """Seconds and peak MiB at each size (None where the system does not report it), and their exponents."""

    seconds: list[float]
    mebibytes: list[float | None]
    exponent: float
    memory_exponent: float | None


def measure_growth(growth: Growth, n_threads: int) -> Grown:
    """Measure all sizes, each in a process of its own, the smallest first."""
    seconds: list[float] = []
    mebibytes: list[float | None] = []
    for n in growth.sizes:
        name = (growth.prepare.__module__, growth.prepare.__qualname__)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks._growth", *name, str(n), str(n_threads), str(growth.repeats)],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"{growth.what} at n={n}: {(done.stderr.strip() or 'ended').splitlines()[-1]}")
        result = json.loads(done.stdout.splitlines()[-1])
        seconds.append(result["seconds"])
        mebibytes.append(result["mebibytes"])
    known = [size for size in mebibytes if size is not None]
    memory = exponent(growth.sizes, known) if len(known) == len(growth.sizes) else None
    return Grown(seconds, mebibytes, exponent(growth.sizes, seconds), memory)


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return p of the least-squares fit ``value = constant * size ** p``.

    >>> round(exponent([10, 100, 1000], [2.0, 200.0, 20000.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float)), 1)[0])


def _status_mebibytes(field: str) -> float:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) / 1024


def _run_one(module: str, name: str, n: int, n_threads: int, repeats: int) -> dict[str, float | None]:
    call = getattr(import_module(module), name)(n)
    times, peaks = [], []
    with limited_threads(n_threads):
        for _ in range(repeats):
            before = None
            if _CLEAR.exists():
                _CLEAR.write_text("5")  # resets the peak to the present size
                before = _status_mebibytes("VmRSS")
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
            if before is not None:
                # At least one page: the exponent is computed from logarithms.
                peaks.append(max(_status_mebibytes("VmHWM") - before, 1 / 256))
    return {"seconds": float(np.median(times)), "mebibytes": max(peaks, default=None)}


if __name__ == "__main__":
    module, name, *numbers = sys.argv[1:]
    print(json.dumps(_run_one(module, name, *map(int, numbers))))
