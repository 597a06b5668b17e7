"""What survives when the process that writes an index is killed?

    python benchmarks/kill_index.py [--kills 100] [--rows 50000] [--seed 0]

A child process opens an index file for writing, adds and removes items, saves now and then, and reports through a pipe
what it is about to do and what has returned. It is ended by SIGKILL at a random moment. The file is then opened and
compared with what was acknowledged: all of it must be there, and nothing more than the one call that was running,
whole. The same file goes on to the next round, so damage would also add up.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

from thpi.index import HammingIndex

N_BITS = 64


def codes_of(ids: list[int]) -> np.ndarray:
    """Return the code that belongs to each id, so that a code under a wrong id is seen."""
    digests = b"".join(hashlib.sha256(str(i).encode()).digest()[:8] for i in ids)
    return np.frombuffer(digests, dtype=np.uint8).reshape(len(ids), 8)


def write_until_killed(path: Path, pipe: int, seed: int) -> None:
    rng = random.Random(seed)
    index = HammingIndex.open(path, "a")
    next_id = max([*index.ids.tolist(), -1]) + 1
    while True:
        choice = rng.random()
        if choice < 0.55:
            ids = list(range(next_id, next_id + rng.choice([1, 1, 10, 2000])))
            next_id = ids[-1] + 1
            _report(pipe, f"add {ids[0]} {ids[-1]}")
            index.add(codes_of(ids), ids)
        elif choice < 0.7 and len(index):
            first = rng.randrange(len(index))
            ids = index.ids[first : first + rng.choice([1, 20])].tolist()
            _report(pipe, "remove " + " ".join(map(str, ids)))
            index.remove(ids)
        else:
            _report(pipe, "save")
            index.save()
        _report(pipe, "done")


def _report(pipe: int, line: str) -> None:
    os.write(pipe, (line + "\n").encode())


def apply(held: set[int], call: str) -> set[int]:
    name, *numbers = call.split()
    values = [int(number) for number in numbers]
    if name == "add":
        return held | set(range(values[0], values[1] + 1))
    return held - set(values) if name == "remove" else held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rows", type=int, default=50_000, help="items at the start; more make saving take longer")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    broken = lost = extra = acknowledged = 0
    killed_in: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "killed.index"
        held = set(range(options.rows))
        start = HammingIndex(N_BITS)
        start.add(codes_of(sorted(held)), sorted(held))
        start.save(path)
        for kill in range(options.kills):
            lines = _one_kill(path, options.seed * 10**6 + kill, rng)
            acknowledged_calls, running = _split(lines)
            acknowledged += len(acknowledged_calls)
            for call in acknowledged_calls:
                held = apply(held, call)
            killed_in[running.split()[0] if running else "between calls"] += 1
            try:
                index = HammingIndex.open(path)
            except Exception as error:
                broken += 1
                print(f"kill {kill}: broken: {error}")
                return 1
            found = set(index.ids.tolist())
            if found not in (held, apply(held, running) if running else held):
                missing = held - found
                lost += bool(missing)
                extra += not missing
                print(f"kill {kill} in {running!r}: {len(missing)} lost, {len(found - held)} unexpected")
            if not np.array_equal(index.codes, codes_of(index.ids.tolist())):
                broken += 1
                print(f"kill {kill}: codes altered")
            held = found
        HammingIndex.open(path, "a").close()
        leftovers = [name for name in os.listdir(folder) if name.endswith("-tmp")]
    moments = ", ".join(f"{count} in {name}" for name, count in sorted(killed_in.items()))
    print(f"{options.kills} kills ({moments}); {acknowledged} calls acknowledged, {len(held)} items at the end")
    print(f"broken indexes: {broken}; acknowledged additions or removals lost: {lost}; unexpected items: {extra}")
    print(f"temporary files of killed saves left after the next opening for writing: {len(leftovers)}")
    return int(broken + lost + extra + len(leftovers) > 0)


def _one_kill(path: Path, seed: int, rng: random.Random) -> list[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            write_until_killed(path, writing, seed)
        finally:
            os._exit(1)
    os.close(writing)
    data = os.read(reading, 65536)  # the first call has begun
    time.sleep(rng.uniform(0, 0.12))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError("the writing process ended by itself")
    while part := os.read(reading, 65536):
        data += part
    os.close(reading)
    return data.decode().splitlines()


def _split(lines: list[str]) -> tuple[list[str], str]:
    """Return the calls that returned, and the one that was running ("" where none was)."""
    done = [call for call, after in pairwise(lines) if after == "done"]
    return done, "" if lines[-1] == "done" else lines[-1]


if __name__ == "__main__":
    sys.exit(main())
