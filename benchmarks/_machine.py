"""What the machine is and how fast it can be: the line above every table of speeds."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._cases import limited_threads

__all__ = ["Peaks", "machine_line", "measured_peaks"]


class Peaks(NamedTuple):
    """Measured float32 operations (matrix products) and bytes read from memory, per second."""

    operations: float
    bytes_read: float

    def least_seconds(self, operations: float, bytes_read: float) -> float:
        """Return the least time that the work needs.

        >>> Peaks(2e9, 1e9).least_seconds(4e9, 1e9)
        2.0
        """
        return max(operations / self.operations, bytes_read / self.bytes_read)


def measured_peaks(threads: list[int]) -> dict[int, Peaks]:
    """Measure the peaks at each number of threads."""
    return {n: Peaks(1e9 * _sgemm(n), 1e9 * _bandwidth(n)) for n in threads}


def machine_line(peaks: dict[int, Peaks]) -> str:
    """Name cores, processor and versions, and the measured peaks."""
    names = ("numpy", "scipy", "scikit-learn", "faiss-cpu", "numba")
    versions = ", ".join(f"{name} {_version(name)}" for name in names)
    reached = "; ".join(
        f"{n} thread{'s' * (n > 1)}: sgemm {peak.operations / 1e9:.0f} GFLOP/s, memory {peak.bytes_read / 1e9:.0f} GB/s"
        for n, peak in peaks.items()
    )
    python = platform.python_version()
    return f"{os.cpu_count()} cores, {_processor()}, Python {python}, {versions}. Measured peaks, {reached}."


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _sgemm(n_threads: int, size: int = 2000) -> float:
    A = np.ones((size, size), dtype=np.float32)
    with limited_threads(n_threads):
        return 2e-9 * size**3 / _least(lambda: A @ A)


def _bandwidth(n_threads: int, mebibytes: int = 256) -> float:
    """Read an array larger than any cache, a share a thread: products of vectors, which only wait for memory."""
    from concurrent.futures import ThreadPoolExecutor

    x = np.ones(mebibytes * 2**17)
    parts = np.array_split(x, n_threads)
    with limited_threads(1), ThreadPoolExecutor(n_threads) as pool:
        return 1e-9 * x.nbytes / _least(lambda: list(pool.map(lambda part: part @ part, parts)))


def _least(call, repeats: int = 5) -> float:  # type: ignore[no-untyped-def]
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
