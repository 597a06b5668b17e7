"""What happens when a model or index file is damaged?

Files of three kinds (a model, an index with integer ids, an index with string ids; the indexes with records after
the snapshot) are mutated: bits flipped, cut off, parts swapped, zeroed, repeated, inserted, or replaced by the part of
another valid file. Opening one must give a clear error of the right class that names the file, or the right answer.
Each file is opened in a child process with limits on time and memory, so that a crash or a hang is counted, not shared.

Hostile files have right checksums (:mod:`benchmarks.attack.craft_files`). Opening and using one must give the same
clear error, or an answer.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import thpi
from benchmarks.attack._outcome import Outcome
from benchmarks.attack.craft_files import craft_index, craft_model
from thpi.codes import pack
from thpi.index import HammingIndex, IndexFileError

SECONDS = 5
MEMORY = 8 * 2**30
ANY = object()
X = np.random.RandomState(0).standard_normal((40, 12))


def make_model(path: Path, seed: int) -> None:
    thpi.ITQ(n_bits=8, random_state=seed).fit(X + seed).save(path)


def make_index(path: Path, seed: int, text: bool) -> None:
    rng = np.random.RandomState(seed)
    index = HammingIndex(20)
    ids = [f"item {i}" if text else i * 5 for i in range(30)]
    codes = pack(rng.rand(30, 20) < 0.5)
    index.add(codes[:20], ids[:20])
    index.save(path)
    with HammingIndex.open(path, "a") as index:
        index.add(codes[20:25], ids[20:25])
        index.remove(ids[3:6])
        index.add(codes[25:], ids[25:])


def answer_of_model(path: Path) -> object:
    hasher = thpi.load(path)
    return type(hasher).__name__, hasher.transform(X).tobytes(), hasher.codes_.tobytes()


def answer_of_index(path: Path) -> object:
    index = HammingIndex.open(path)
    return [(item, code.tobytes()) for item, code in index], index.search(index.codes, 3).ids.tolist()


def mutate(data: bytes, other: bytes, rng: random.Random) -> tuple[str, bytes]:
    name = rng.choice(["flip", "flip", "truncate", "swap", "zero", "repeat", "insert", "splice", "slots"])
    changed = bytearray(data)
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    if name == "flip":
        for _ in range(rng.choice([1, 1, 2, 8])):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif name == "truncate":
        changed = changed[:a]
    elif name == "swap":
        size = rng.choice([1, 8, 48, 64])
        i, j = (rng.randrange(max(1, len(changed) - size)) for _ in range(2))
        changed[i : i + size], changed[j : j + size] = changed[j : j + size], changed[i : i + size]
    elif name == "zero":
        changed[a:b] = bytes(b - a)
    elif name == "repeat":
        changed[b:b] = changed[a:b]
    elif name == "insert":
        changed[a:a] = rng.randbytes(rng.choice([1, 8, 100]))
    elif name == "splice":
        changed[a:b] = other[a:b]
    else:  # the numbers near the start: lengths and ends
        at = rng.randrange(min(160, len(changed) - 8))
        changed[at : at + 8] = rng.choice([2**64 - 1, 2**63, 2**31, 0, len(data) + 1]).to_bytes(8, "little")
    return name, bytes(changed)


def judge(path: Path, answer: Callable[[Path], object], right: object, error_class: type[Exception]) -> str:
    try:
        found = answer(path)
    except error_class as error:
        return "clear error" if str(path) in str(error) else f"WRONG: error does not name the file: {error}"
    except Exception as error:
        return f"WRONG: {type(error).__name__}: {error}"
    return "right answer" if found == right or right is ANY else "WRONG: another answer"


def in_child(work: Callable[[], str]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            signal.alarm(20 * SECONDS)  # the machine may be busy with other things
            os.write(writing, work().encode()[:2000])
        finally:
            os._exit(0)
    os.close(writing)
    outcome = b""
    while part := os.read(reading, 4096):
        outcome += part
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return (
            "WRONG: hang"
            if number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL)
            else f"WRONG: crash by signal {number}"
        )
    return outcome.decode() or "WRONG: no outcome"


def make_lap(path: Path, seed: int) -> None:
    thpi.LapITQPlus(n_bits=4, max_iter=2, random_state=seed).fit(X, privileged=X[:, :5]).save(path)


def make_auto(path: Path, seed: int) -> None:
    thpi.AutoHasher(n_bits=4, relevance="target", random_state=seed).fit(X, privileged=X[:, :5]).save(path)


def make_tuned(path: Path, text: bool) -> None:
    index, codes = HammingIndex(20, 0.9), pack(np.random.RandomState(0).rand(155, 20) < 0.5)
    ids = [f"item {i}" if text else i * 5 for i in range(155)]
    index.add(codes[:150], ids[:150])
    index.save(path)
    with HammingIndex.open(path, "a") as index:
        index.add(codes[150:], ids[150:])
        index.remove(ids[3:5])


def attack(scale: float, seed: int) -> Iterator[Outcome]:
    """Damage 5,000 files at scale 1."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, kinds = Path(folder) / "mutated", []
        for name, make, answer, error_class in (
            ("model", make_model, answer_of_model, thpi.ModelFileError),
            ("index, integer ids", lambda p, s: make_index(p, s, False), answer_of_index, IndexFileError),
            ("index, string ids", lambda p, s: make_index(p, s, True), answer_of_index, IndexFileError),
        ):
            make(path, 1)
            other = path.read_bytes()
            make(path, 0)
            outcome = Outcome(f"damaged file: {name}", 0)
            kinds.append((outcome, path.read_bytes(), other, answer, answer(path), error_class))
        for number in range(max(30, round(5000 * scale))):
            outcome, data, other, answer, right, error_class = kinds[number % len(kinds)]
            mutation, changed = mutate(data, other, rng)
            if changed == other:
                continue
            path.write_bytes(changed)
            count(outcome, number, mutation, in_child(lambda: judge(path, answer, right, error_class)))  # noqa: B023
    yield from (kind[0] for kind in kinds)


def crafted(scale: float, seed: int) -> Iterator[Outcome]:
    """Open and use 2,000 hostile files at scale 1."""
    import faiss

    faiss.omp_set_num_threads(1)  # a child has no threads of its parent
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crafted"
        kinds: list[tuple[Outcome, bytes, Callable[[bytes, random.Random], tuple[str, bytes]]]] = []
        for name, make in (("ITQ", make_model), ("LapITQPlus", make_lap), ("AutoHasher", make_auto)):
            make(path, 0)
            kinds.append((Outcome(f"hostile file: {name}", 0), path.read_bytes(), craft_model))
        for name, text in (("index, integer ids", False), ("index, string ids", True)):
            make_tuned(path, text)
            kinds.append((Outcome(f"hostile file: {name}", 0), path.read_bytes(), craft_index))
        for number in range(max(30, round(2000 * scale))):
            outcome, data, craft = kinds[number % len(kinds)]
            what, changed = craft(data, random.Random(seed * 10**6 + number))
            path.write_bytes(changed)
            answer, error = (
                (answer_of_index, IndexFileError) if craft is craft_index else (answer_of_model, thpi.ModelFileError)
            )
            count(outcome, number, what, in_child(lambda: judge(path, answer, ANY, error)))  # noqa: B023
    yield from (kind[0] for kind in kinds)


def count(outcome: Outcome, number: int, what: str, found: str) -> None:
    outcome.tried += 1
    outcome.counts[found.split(":")[0]] += 1
    outcome.demand(not found.startswith("WRONG"), f"file {number} ({what}): {found}")
