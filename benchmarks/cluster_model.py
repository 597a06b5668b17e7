"""What do a billion rows cost on a cluster? A model from measured costs a row, checked against runs on this machine.

    python -m benchmarks.cluster_model [--rows 50000 100000 200000 400000] [--columns 768] [--bits 64] [--workers 2]

The model has four costs, each measured on one chunk in one process with one thread: reading a row of Parquet, adding
it to the moments, projecting it, and one ITQ iteration over its projection; the cost of a task, of empty tasks;
and the iterations on samples, which run in the client. A fit reads and sums (1 pass), reads and projects (1), takes the
samples, iterates over the projections where they are (k passes) and, in ``thpi encode``, reads and codes (1):

    seconds = fixed + n / workers * (2 read + moments + project + k iteration) + tasks * overhead + samples

What does not grow with n (rounds between client and scheduler, the d x d eigenproblem) is ``fixed``: the fit of the
smallest size tells it. The model is then compared with real fits at the other sizes, on a LocalCluster of processes,
and worked out for 1e9 rows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import thpi
from thpi.rows import Parquet
from thpi.rows._dask import _read_group, dask_parquet
from thpi.solvers.moments import block_moments
from thpi.solvers.quantisation import block_correlation

PART = 25_000
MAX_ITER = 50


def _write(folder: Path, n: int, d: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.RandomState(0)
    mixing = (rng.standard_normal((80, d)) * np.linspace(1, 0.2, 80)[:, None]).astype(np.float32)
    for i in range(n // PART):
        X = rng.standard_normal((PART, 80)).astype(np.float32) @ mixing
        X += 0.3 * rng.standard_normal((PART, d)).astype(np.float32)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), d)
        pq.write_table(pa.table({"vector": vectors}), folder / f"part-{i:04d}.parquet", compression="none")


def _median(call: Callable[[], Any], repeats: int = 5) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def _costs(folder: Path, d: int, c: int) -> dict[str, float]:
    """Seconds a row of each step, on one thread."""
    path = str(Parquet(folder).files[0])
    with threadpool_limits(1):
        X = _read_group(path, 0, None, np.float32)
        mean, W = X.mean(axis=0), np.linalg.qr(np.random.RandomState(0).standard_normal((d, c)))[0].astype(np.float32)
        Z = (X - mean) @ W
        R = np.eye(c, dtype=np.float32)
        steps = {
            "read": lambda: _read_group(path, 0, None, np.float32),
            "moments": lambda: block_moments(X, mean),
            "project": lambda: (X - mean) @ W,
            "iteration": lambda: block_correlation(Z, R),
        }
        return {name: _median(step) / len(X) for name, step in steps.items()}


def _run(folder: Path, c: int) -> tuple[float, int]:
    start = time.perf_counter()
    hasher = thpi.ITQ(c, max_iter=MAX_ITER, tol=0, random_state=0).fit(dask_parquet(folder))
    return time.perf_counter() - start, hasher.n_iter_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 100_000, 200_000, 400_000])
    parser.add_argument("--columns", type=int, default=768)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    import distributed

    d, c, workers = options.columns, options.bits, options.workers
    with tempfile.TemporaryDirectory() as temporary:
        folders = []
        for n in options.rows:
            folder = Path(temporary) / str(n)
            folder.mkdir()
            _write(folder, n, d)
            folders.append(folder)
        cost = _costs(folders[0], d, c)
        for name, seconds in cost.items():
            print(f"  {name:10} {1e6 * seconds:8.2f} microseconds a row and core")
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            client.run(_one_thread)
            n_tasks = 200
            overhead = _median(lambda: client.gather(client.map(abs, range(n_tasks), pure=False)), 3) / n_tasks
            print(f"  task       {1e3 * overhead:8.2f} milliseconds")
            _run(folders[0], c)  # workers import what they need
            fixed: float | None = None
            for n, folder in zip(options.rows, folders, strict=True):
                seconds, passes = _run(folder, c)
                expected = predicted(n, c, passes, workers, cost, overhead, n // PART)
                if fixed is None:
                    fixed = seconds - expected
                    print(f"  {n:>9,} rows: measured {seconds:7.2f} s, of which fixed {fixed:.2f} s")
                    continue
                expected += fixed
                ratio = seconds / expected
                print(f"  {n:>9,} rows: measured {seconds:7.2f} s, model {expected:7.2f} s, ratio {ratio:.2f}")
    _billion(d, c, cost, overhead)


def _one_thread() -> None:
    threadpool_limits(1)


def predicted(
    n: int, c: int, passes: int, workers: int, cost: dict[str, float], overhead: float, n_chunks: int
) -> float:
    """Seconds of a fit by the model."""
    row = 2 * cost["read"] + cost["moments"] + cost["project"] + passes * cost["iteration"]
    # A pass has a task to read, one for the function, and a tree of sums; the samples are two passes of small tasks.
    tasks = n_chunks * (5 + 3 * passes + 4)
    samples = MAX_ITER * (0.5 * 64 * c + 0.3 * 256 * c) * cost["iteration"]
    return n / workers * row + tasks * overhead + samples


def _billion(d: int, c: int, cost: dict[str, float], overhead: float) -> None:
    n, passes, chunk = 1_000_000_000, int(0.2 * MAX_ITER), 250_000
    print(f"1,000,000,000 x {d} to {c} bits, {passes} iterations on all rows, chunks of {chunk:,} rows:")
    n_chunks = n // chunk
    print(f"  on disk {4e-12 * n * d:.2f} TB (float32), projections {4e-9 * n * c:.0f} GB, codes {n * c / 8e9:.0f} GB")
    print(f"  memory of a worker core: chunk {4e-9 * chunk * d:.2f} GB, twice while it is centred")
    sums = (d * d + d) * 8 + passes * c * c * 8
    total = n_chunks * sums / 1e9
    print(f"  network: {n_chunks:,} chunks x {sums / 1e6:.1f} MB of sums = {total:.0f} GB for the whole fit")
    for cores in (64, 256, 1024):
        fit = predicted(n, c, passes, cores, cost, overhead, n_chunks)
        encode = n / cores * (cost["read"] + cost["project"])
        scheduler = 100 * n_chunks * (9 + 3 * passes) * overhead / fit
        held = 4e-9 * n * c / cores
        print(
            f"  {cores:5} cores: fit {fit / 60:6.1f} min (scheduler {scheduler:.0f} %), encode {encode / 60:6.1f} min, "
            f"projections {held:.2f} GB a core"
        )


if __name__ == "__main__":
    main()
