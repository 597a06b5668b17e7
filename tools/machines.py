"""Other processors, played on this one. As a program it runs the numerical tests on each of them: make test-machines.

    python -m tools.machines [--machines Haswell,Prescott] [arguments of pytest]

OpenBLAS takes the kernels that ``OPENBLAS_CORETYPE`` names, and numpy leaves out the instructions that
``NPY_DISABLE_CPU_FEATURES`` names, so that sums round differently. Kernels that this processor cannot run are left out,
and named.

What is promised: on one machine the same seed gives the same bytes, with any number of threads. On another processor
AutoHasher chooses the same method; ``gain_`` is within 0.3 points and MAP within 0.5. So is the recall of
ResidualQuantiser with codes of 16 bytes; with shorter codes of few rows it moves by up to 1.5 points, because the
search for centroids runs in single precision. With more than 2,000 rows the number of threads must be the same, too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from functools import cache

import numpy as np

KERNELS = ("Haswell", "SkylakeX", "Sandybridge", "Nehalem", "Prescott")
"""Of OpenBLAS. Processors of the kind Zen run those of Haswell."""

# Found where this runs: in a process that plays a machine without them there are none.
_EXTENSIONS = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])

MACHINES: dict[str, dict[str, str]] = {
    **{kernel: {"OPENBLAS_CORETYPE": kernel} for kernel in KERNELS},
    "plain numpy": {"NPY_DISABLE_CPU_FEATURES": " ".join(_EXTENSIONS)},
    "two threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"},
}
"""What is set in the environment of each; with one thread unless it says otherwise."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

TESTS = [
    *(f"tests/{room}" for room in ("solvers", "hashers", "auto", "kernels", "evaluation")),
    "tests/comparison/test_quantiser.py",
    *(f"tests/test_{name}.py" for name in ("base", "containers", "drift", "encoder", "golden", "graph")),
    *(f"tests/test_{name}.py" for name in ("model_file", "refit")),
]

# Prints the kernels of every OpenBLAS in the process, after products that would end it if the processor lacks them.
_PROBE = """
import numpy as np, scipy.linalg, faiss
from threadpoolctl import threadpool_info
for dtype in (np.float32, np.float64):
    A = np.random.RandomState(0).standard_normal((64, 64)).astype(dtype)
    scipy.linalg.svd(A @ A.T)
print(*(library.get("architecture") for library in threadpool_info()))
"""


def environment(machine: str) -> dict[str, str]:
    """The environment of a process that takes this processor for another one."""
    return dict(os.environ) | ONE_THREAD | MACHINES[machine]


@cache
def can_play(machine: str) -> bool:
    """Whether this processor has the instructions, and OpenBLAS takes the kernels."""
    wanted = MACHINES[machine]
    probe = subprocess.run([sys.executable, "-c", _PROBE], env=environment(machine), capture_output=True, text=True)
    kernel = wanted.get("OPENBLAS_CORETYPE")
    return probe.returncode == 0 and (kernel is None or kernel in probe.stdout.split())


def play(machine: str, arguments: list[str]) -> str:
    """Return what Python prints with these arguments on a machine."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment(machine), stdout=subprocess.PIPE, text=True, check=True).stdout


def playable(machines: list[str]) -> list[str]:
    """Those machines that can be played here; the others are named."""
    for machine in machines:
        if not can_play(machine):
            print(f"{machine}: this processor cannot", flush=True)
    return [machine for machine in machines if can_play(machine)]


def main() -> None:
    """Run the tests on every machine; the exit status says whether all passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", default=",".join(MACHINES))
    options, rest = parser.parse_known_args()
    failed = []
    for machine in playable(options.machines.split(",")):
        start = time.perf_counter()
        workers = max(1, (os.cpu_count() or 1) // int(environment(machine)["OMP_NUM_THREADS"]))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--no-header",
            "-n",
            str(workers),
            "-m",
            "not long and not slow",
            *TESTS,
        ]
        run = subprocess.run([*command, *rest], env=environment(machine), check=False)
        print(f"{machine}: exit status {run.returncode}, {time.perf_counter() - start:.0f} s", flush=True)
        if run.returncode:
            failed.append(machine)
    if failed:
        sys.exit(f"Tests failed on: {', '.join(failed)}")


if __name__ == "__main__":
    main()
