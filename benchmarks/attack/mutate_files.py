"""What happens when a model, a saved index or a collection is damaged?

Files are mutated: bits flipped, cut off, parts swapped, zeroed, repeated, inserted, or replaced by the part of
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
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import thpi
from benchmarks.attack._outcome import Outcome
from benchmarks.attack.craft_files import craft_collection, craft_index, craft_model
from thpi.codes import pack
from thpi.collection import CollectionFileError, Details, write
from thpi.index import HammingIndex, IndexFileError

SECONDS = 5
MEMORY = 8 * 2**30
ANY = object()
Errors: TypeAlias = "type[Exception] | tuple[type[Exception], ...]"
# SQLite says of some damage that the file cannot be read.
OF_COLLECTION = (CollectionFileError, OSError)
X = np.random.RandomState(0).standard_normal((40, 12))


def make_model(path: Path, seed: int) -> None:
    thpi.ITQ(n_bits=8, random_state=seed).fit(X + seed).save(path)


def make_index(path: Path, seed: int, text: bool) -> None:
    index = HammingIndex(20)
    index.add(pack(np.random.RandomState(seed).rand(30, 20) < 0.5), [f"item {i}" if text else i * 5 for i in range(30)])
    index.save(path)


def make_collection(path: Path, seed: int, text: bool) -> None:
    """A collection of two pages that was changed, with something to show."""
    hasher, rows = (
        thpi.LSH(n_bits=12, random_state=seed).fit(X),
        np.random.RandomState(seed).standard_normal((1500, 12)),
    )
    ids = [f"item {i}" if text else i * 5 for i in range(1500)]
    details = {ids[3]: Details("a cap"), ids[700]: Details("\N{SNOWMAN}", b"picture" * 900)}
    write(path, hasher, hasher.transform(rows[:1400]), ids[:1400], about={}, details=details)
    with thpi.open(path) as shop:
        shop.remove(ids[10:60])
        shop.add(rows[1400:], ids[1400:], details=[Details(f"text {i}") for i in range(100)])


def answer_of_model(path: Path) -> object:
    hasher = thpi.load(path)
    return type(hasher).__name__, hasher.transform(X).tobytes(), hasher.codes_.tobytes()


def answer_of_index(path: Path) -> object:
    index = HammingIndex.open(path)
    return [(item, code.tobytes()) for item, code in index], index.search(index.codes, 3).ids.tolist()


def answer_of_collection(path: Path) -> object:
    with thpi.open(path) as shop:
        found = shop.search(X[:3], 5), shop.search(id=shop.ids[7], k=5)
        shown = [shop.details(item) for item in shop.ids[[3, 650, -1]].tolist()]
        codes = shop.codes_of(shop.ids[:700:50]).tobytes()
        items = [(item, code.tobytes()) for item, code in shop]
        return items, [each.ids.tolist() for each in found], shown, codes, shop.about, shop.evidence


def use_collection(path: Path) -> object:
    """Read, change and check; whatever the file says is an answer, but nobody may be harmed."""
    with thpi.open(path) as shop:
        kind = shop.index.id_kind if not len(shop) else type(shop.ids.tolist()[0])
        shop.add(X[:2], ["new one", "new two"] if kind is str else [10**6, 10**6 + 1])
        shop.remove(shop.ids[:2])
        shop.refresh()
        shop.check()
    return answer_of_collection(path)


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


def judge(path: Path, answer: Callable[[Path], object], right: object, error_class: Errors) -> str:
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


def attack(scale: float, seed: int) -> Iterator[Outcome]:
    """Damage 5,000 files at scale 1."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, kinds = Path(folder) / "mutated", []
        for name, make, answer, error_class in (
            ("model", make_model, answer_of_model, thpi.ModelFileError),
            ("index, integer ids", lambda p, s: make_index(p, s, False), answer_of_index, IndexFileError),
            ("index, string ids", lambda p, s: make_index(p, s, True), answer_of_index, IndexFileError),
            ("collection, integers", lambda p, s: make_collection(p, s, False), answer_of_collection, OF_COLLECTION),
            ("collection, texts", lambda p, s: make_collection(p, s, True), answer_of_collection, OF_COLLECTION),
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
        kinds: list[Any] = [
            ("ITQ", make_model, craft_model, answer_of_model, thpi.ModelFileError),
            ("LapITQPlus", make_lap, craft_model, answer_of_model, thpi.ModelFileError),
            ("AutoHasher", make_auto, craft_model, answer_of_model, thpi.ModelFileError),
            ("index, integers", lambda p, s: make_index(p, s, False), craft_index, answer_of_index, IndexFileError),
            ("index, texts", lambda p, s: make_index(p, s, True), craft_index, answer_of_index, IndexFileError),
        ]
        for name, text in (("collection, integers", False), ("collection, texts", True)):
            make = partial(make_collection, text=text)
            kinds += [(name, make, craft_collection, use_collection, OF_COLLECTION)] * 2
        outcomes: dict[str, Outcome] = {}
        files: dict[str, bytes] = {}
        for number in range(max(30, round(2000 * scale))):
            name, make, craft, answer, error = kinds[number % len(kinds)]
            if name not in files:
                make(path, 0)
                outcomes[name], files[name] = Outcome(f"hostile file: {name}", 0), path.read_bytes()
            what, changed = craft(files[name], random.Random(seed * 10**6 + number))
            path.write_bytes(changed)
            count(outcomes[name], number, what, in_child(lambda: judge(path, answer, ANY, error)))  # noqa: B023
            Path(f"{path}-journal").unlink(missing_ok=True)
    yield from outcomes.values()


def count(outcome: Outcome, number: int, what: str, found: str) -> None:
    outcome.tried += 1
    outcome.counts[found.split(":")[0]] += 1
    outcome.demand(not found.startswith("WRONG"), f"file {number} ({what}): {found}")
