"""How much memory does a fit on a file larger than memory need?

    python -m benchmarks.out_of_memory [--gib 8] [--columns 512] [--bits 64] [--folder FOLDER]

Writes a .npy file of that size once (and keeps it where --folder is given), fits ITQ on it and encodes it,
memory-mapped, in a process of its own, and prints the peak of that process's resident memory above what it held before
the fit, with the libraries loaded and one small fit done. Parquet and blocks made by a function take the same way
through the library.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import thpi


def _resident(field: str) -> float:
    """Resident memory in MiB: ``VmRSS`` now, ``VmHWM`` at its peak."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1024


def _make(path: Path, n: int, d: int) -> None:
    rng = np.random.RandomState(0)
    mixing = (rng.standard_normal((80, d)) * np.linspace(1, 0.2, 80)[:, None]).astype(np.float32)
    rows = rng.standard_normal((50_000, 80)).astype(np.float32) @ mixing
    rows += 0.3 * rng.standard_normal((50_000, d)).astype(np.float32)
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": rows.dtype.str, "fortran_order": False, "shape": (n, d)})
        for start in range(0, n, len(rows)):
            # Each portion is turned a little, so that no two are the same.
            part = np.roll(rows, start // len(rows), axis=0)[: n - start] * np.float32(1 + 1e-3 * rng.rand())
            part.tofile(file)


def _fit(path: str, bits: int) -> None:
    thpi.ITQ(bits, random_state=0).fit(np.random.RandomState(0).standard_normal((5_000, 2 * bits)).astype(np.float32))
    before = _resident("VmRSS")
    X = np.load(path, mmap_mode="r")
    start = time.perf_counter()
    hasher = thpi.ITQ(bits, random_state=0).fit(X)
    fitted = time.perf_counter()
    hasher.transform(X)
    done = time.perf_counter()
    facts = {"before": before, "peak": _resident("VmHWM"), "fit": fitted - start, "encode": done - fitted}
    print(json.dumps(facts | {"passes": hasher.n_iter_, "codes": hasher.codes_.nbytes / 2**20}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=8)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        _fit(options.fit, options.bits)
        return
    n = int(options.gib * 2**30 / (4 * options.columns))
    with tempfile.TemporaryDirectory() as temporary:
        path = (options.folder or Path(temporary)) / f"rows-{n}x{options.columns}.npy"
        if not path.exists():
            _make(path, n, options.columns)
        command = [sys.executable, "-m", "benchmarks.out_of_memory", "--fit", str(path), "--bits", str(options.bits)]
        facts = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(
        f"ITQ, {n:,} x {options.columns} float32 ({options.gib:g} GiB), {options.bits} bits: "
        f"peak {facts['peak'] - facts['before']:.0f} MiB above the {facts['before']:.0f} MiB before the fit "
        f"(of which codes {facts['codes']:.0f} MiB); fit {facts['fit']:.0f} s with {facts['passes']} iterations on all "
        f"rows, encode {facts['encode']:.0f} s"
    )


if __name__ == "__main__":
    main()
