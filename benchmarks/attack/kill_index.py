"""What survives when the process that writes an index is killed?

A child process opens an index file for writing, adds and removes items, saves now and then, and reports through a pipe
what it is about to do and what has returned. It is ended by SIGKILL at a random moment. The file is then opened and
compared with what was acknowledged: all of it must be there, and nothing more than the one call that was running,
whole. The same file goes on to the next round, so damage would also add up.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.attack._outcome import Outcome
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


def attack(scale: float, seed: int, rows: int = 50_000) -> Iterator[Outcome]:
    """Kill the writer 100 times at scale 1. ``rows`` items are there at the start; more make saving take longer."""
    rng = random.Random(seed)
    outcome = Outcome("a writer of an index killed", max(5, round(100 * scale)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "killed.index"
        held = set(range(rows))
        start = HammingIndex(N_BITS)
        start.add(codes_of(sorted(held)), sorted(held))
        start.save(path)
        for kill in range(outcome.tried):
            acknowledged, running = _split(_one_kill(path, seed * 10**6 + kill, rng))
            outcome.counts["calls acknowledged"] += len(acknowledged)
            outcome.counts["killed in " + (running.split()[0] if running else "no call")] += 1
            for call in acknowledged:
                held = apply(held, call)
            try:
                index = HammingIndex.open(path)
            except Exception as error:
                outcome.wrong.append(f"kill {kill}: broken: {error}")
                break
            found = set(index.ids.tolist())
            allowed = held, apply(held, running) if running else held
            change = f"{len(held - found)} lost, {len(found - held)} unexpected"
            outcome.demand(found in allowed, f"kill {kill} in {running!r}: {change}")
            outcome.demand(
                np.array_equal(index.codes, codes_of(index.ids.tolist())), f"kill {kill}: a code under a wrong id"
            )
            held = found
        HammingIndex.open(path, "a").close()
        left = [name for name in os.listdir(folder) if name.endswith("-tmp")]
        outcome.demand(not left, f"temporary files left after the next opening for writing: {left}")
    yield outcome


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
