"""``python -m benchmarks.query_start``: CPU seconds (user and system) from nothing to the first code.

Each line is a process of its own; the least of some repetitions counts, because other work on the machine only adds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import thpi

_REPEATS = 7
_COMMAND = "import sys; from thpi.cli import main; main()"
_SEARCH = ("search", "shop.index", "rows.csv", "--row", "3", "--model", "shop.thpi")


def cpu_seconds(*arguments: str, folder: Path) -> float:
    """CPU time of ``python ...``, the least of some runs."""

    def once() -> float:
        before = os.times()
        subprocess.run([sys.executable, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return min(once() for _ in range(_REPEATS))


def main() -> None:
    """Print one line per way to the first code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X = np.random.default_rng(0).standard_normal((1000, 64))
        np.savetxt(folder / "rows.csv", X, delimiter=",")
        thpi.ITQ(n_bits=32, random_state=0).fit(X).save(folder / "shop.thpi")
        code = "import numpy, thpi; thpi.{}('shop.thpi').transform(numpy.zeros((1, 64)))"
        lines = {
            "import numpy": ("-c", "import numpy"),
            "thpi.load, one code": ("-c", code.format("load")),
            "thpi.load_encoder, one code": ("-c", code.format("load_encoder")),
            "thpi --version": ("-c", _COMMAND, "--version"),
            "thpi info": ("-c", _COMMAND, "info", "shop.thpi"),
            "thpi encode": ("-c", _COMMAND, "encode", "shop.thpi", "rows.csv", "codes.npy", "--force"),
            "thpi index build": ("-c", _COMMAND, "index", "build", "codes.npy", "shop.index", "--force"),
            "thpi search --model": ("-c", _COMMAND, *_SEARCH),
        }
        for what, arguments in lines.items():
            print(f"{what:30} {cpu_seconds(*arguments, folder=folder):.2f} s", flush=True)


if __name__ == "__main__":
    main()
