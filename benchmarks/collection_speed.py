"""How long do build, open, search and add of a collection take, beside a model and an index in files of their own?

    python -m benchmarks.collection_speed [--rows 100000] [--bits 64] [--before FOLDER]

Side by side, each in a process of its own: a collection, and the same work with what researchers have in its place:
fit, save the model, encode, make an index, save it. Without ``--before`` an addition to the saved index writes it anew.
With ``--before``, the folder ``src`` of version 8c1abc5, this side runs there, where an index file had a journal.
Processor time is counted; a build should take at most 1.2 times its counterpart. ``--rows 1000000`` takes a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._table import lined_up, seconds

_START = """
import json, sys, time, numpy as np, thpi, thpi.hashers
from thpi.index import HammingIndex
folder, rows, bits = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
X = rng.standard_normal((rows, 8), dtype=np.float32) @ rng.standard_normal((8, bits + 32), dtype=np.float32)
X += rng.standard_normal(X.shape, dtype=np.float32)
ids = [f"item {i}" for i in range(rows)]
taken = {}

def step(name, work):
    start = time.process_time()
    answer = work()
    taken[name] = time.process_time() - start
    return answer

hasher = thpi.ITQ(bits, random_state=0)
"""
_COLLECTION = """
step("build", lambda: thpi.build(f"{folder}/shop.thpi", X, ids=ids, hasher=hasher).close())
shop = step("open", lambda: thpi.open(f"{folder}/shop.thpi"))
step("first search of 10 rows", lambda: shop.search(X[:10]))
step("search of 10 rows", lambda: shop.search(X[:10]))
step("add 1 row", lambda: shop.add(X[:1], ["one"]))
step("add 10,000 rows", lambda: shop.add(X[:10_000], [f"new {i}" for i in range(10_000)]))
"""
_PARTS = """
def make():
    hasher.fit(X).save(f"{folder}/model")
    index = HammingIndex(bits)
    index.add(hasher.transform(X), ids)
    index.save(f"{folder}/index")

def open_both():
    encoder = thpi.load_encoder(f"{folder}/model")
    return encoder, HammingIndex.open(f"{folder}/index", *mode)

def add(n, name):
    index.add(encoder.transform(X[:n]), [f"{name} {i}" for i in range(n)])
    if not mode:
        index.save(f"{folder}/index")

mode = ["a"] if hasattr(HammingIndex, "refresh") else []
step("build", make)
encoder, index = step("open", open_both)
step("first search of 10 rows", lambda: index.search(encoder.decision_function(X[:10])))
step("search of 10 rows", lambda: index.search(encoder.decision_function(X[:10])))
step("add 1 row", lambda: add(1, "one"))
step("add 10,000 rows", lambda: add(10_000, "new"))
"""
_END = "print(json.dumps(taken))"


def measured(code: str, rows: int, bits: int, source: Path | None) -> dict[str, float]:
    """Run a side in a process of its own; seconds of its processor by step."""
    path = {} if source is None else {"PYTHONPATH": str(source)}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _START + code + _END, folder, str(rows), str(bits)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | path)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--before", type=Path, help="folder src of an earlier version, for the other side")
    options = parser.parse_args()
    ours = measured(_COLLECTION, options.rows, options.bits, None)
    other = measured(_PARTS, options.rows, options.bits, options.before)
    rows = [[step, seconds(ours[step]), seconds(other[step]), f"{ours[step] / other[step]:.2f}"] for step in ours]
    total = sum(ours.values()), sum(other.values())
    rows.append(["all", seconds(total[0]), seconds(total[1]), f"{total[0] / total[1]:.2f}"])
    print(f"{options.rows:,} rows of {options.bits} bits, seconds of the processor")
    print(lined_up(["step", "collection", "model and index", "ratio"], rows))


if __name__ == "__main__":
    main()
