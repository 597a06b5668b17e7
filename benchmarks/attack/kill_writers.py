"""What survives when the processes that write a collection are killed?

Child processes open a collection, add and remove items, and report through a pipe what they are about to do and what
has returned. They are ended by SIGKILL at random moments, while this process reads. The collection is then opened,
checked and compared with what was acknowledged: all of it must be there, and nothing more than the one call of each
writer that was running, whole. The same file goes on to the next round, so damage would also add up.
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

import thpi
from benchmarks.attack._outcome import Outcome
from thpi.collection import Collection, write

N_BITS, FAR = 64, 10**9
"""Bits of a code; ids of different writers are at least so far apart."""


def codes_of(ids: list[int]) -> np.ndarray:
    """Return the code that belongs to each id, so that a code under a wrong id is seen."""
    digests = b"".join(hashlib.sha256(str(i).encode()).digest()[:8] for i in ids)
    return np.frombuffer(digests, dtype=np.uint8).reshape(len(ids), 8)


def write_until_killed(path: Path, pipe: int, seed: int, writer: int) -> None:
    rng = random.Random(seed)
    shop = thpi.open(path, wait=60)
    own = [item for item in shop.ids.tolist() if item // FAR == writer]
    following = max([*own, writer * FAR - 1]) + 1
    while True:
        if rng.random() < 0.7 or not own:
            ids = list(range(following, following + rng.choice([1, 1, 10, 2000])))
            following = ids[-1] + 1
            _report(pipe, f"add {ids[0]} {ids[-1]}")
            shop.add_codes(codes_of(ids), ids)
            own += ids
        else:
            first = rng.randrange(len(own))
            ids = own[first : first + rng.choice([1, 20, 700])]
            _report(pipe, "remove " + " ".join(map(str, ids)))
            shop.remove(ids)
            own = [item for item in own if item not in set(ids)]
        _report(pipe, "done")


def _report(pipe: int, line: str) -> None:
    os.write(pipe, (line + "\n").encode())


def apply(held: set[int], call: str) -> set[int]:
    name, *numbers = call.split()
    values = [int(number) for number in numbers]
    if name == "add":
        return held | set(range(values[0], values[1] + 1))
    return held - set(values) if name == "remove" else held


def attack(scale: float, seed: int, rows: int = 20_000) -> Iterator[Outcome]:
    """Kill two writers 100 times at scale 1. ``rows`` items are there at the start."""
    rng = random.Random(seed)
    outcome = Outcome("two writers of a collection killed", max(5, round(100 * scale)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "killed.thpi"
        model = thpi.LSH(N_BITS, random_state=0).fit(np.eye(80))
        write(path, model, codes_of(list(range(rows))), range(rows), about={})
        held: list[set[int]] = [set(range(rows)), set()]
        with thpi.open(path) as reader:
            for kill in range(outcome.tried):
                said = _one_kill(path, seed * 10**6 + kill, rng, reader, outcome)
                try:
                    with thpi.open(path) as shop:
                        shop.check()
                        found, codes = shop.ids.tolist(), shop.index.codes
                except Exception as error:
                    outcome.wrong.append(f"kill {kill}: broken: {error}")
                    break
                right = np.array_equal(codes, codes_of(found))
                outcome.demand(right, f"kill {kill}: a code under a wrong id")
                for writer, lines in enumerate(said):
                    acknowledged, running = _split(lines)
                    outcome.counts["calls acknowledged"] += len(acknowledged)
                    outcome.counts["killed in " + (running.split()[0] if running else "no call")] += 1
                    for call in acknowledged:
                        held[writer] = apply(held[writer], call)
                    there = {item for item in found if item // FAR == writer}
                    lost, more = held[writer] - there, there - held[writer]
                    whole = there in (held[writer], apply(held[writer], running) if running else held[writer])
                    outcome.demand(whole, f"kill {kill} in {running!r}: {len(lost)} lost, {len(more)} unexpected")
                    held[writer] = there
        # A journal in which nothing was written yet means nothing to readers; the next change takes it away.
        with thpi.open(path) as shop:
            shop.remove(shop.add_codes(codes_of([2 * FAR]), [2 * FAR]))
        left = [name for name in os.listdir(folder) if name != path.name]
        outcome.demand(not left, f"files left: {left}")
    yield outcome


def _one_kill(path: Path, seed: int, rng: random.Random, reader: Collection, outcome: Outcome) -> list[list[str]]:
    """Let two processes write, kill them at two moments, read meanwhile; return what they said."""
    children, pipes = [], []
    for writer in range(2):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                write_until_killed(path, writing, 2 * seed + writer, writer)
            finally:
                os._exit(1)
        os.close(writing)
        children.append(child)
        pipes.append(reading)
    said = [os.read(pipe, 65536) for pipe in pipes]  # the first calls have begun
    for child in children:
        until = time.monotonic() + rng.uniform(0, 0.12)
        while time.monotonic() < until:
            reader.refresh()
            some = rng.choice(reader.ids.tolist())
            near = reader.search_codes(codes_of([some]), 1)
            outcome.demand(near.ids.tolist() == [[some]], f"a reader found {near.ids} in place of {some}")
            outcome.counts["searches beside them"] += 1
        os.kill(child, signal.SIGKILL)
    for writer, (child, pipe) in enumerate(zip(children, pipes, strict=True)):
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            raise RuntimeError("a writing process ended by itself")
        while part := os.read(pipe, 65536):
            said[writer] += part
        os.close(pipe)
    return [data.decode().splitlines() for data in said]


def _split(lines: list[str]) -> tuple[list[str], str]:
    """Return the calls that returned, and the one that was running ("" where none was)."""
    done = [call for call, after in pairwise(lines) if after == "done"]
    return done, "" if lines[-1] == "done" else lines[-1]
