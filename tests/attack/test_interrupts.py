"""Ctrl-C within a change of an index, at every place: the index goes on, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.attack.interrupts import interrupted
from thpi.index import HammingIndex
from thpi.index._ids import IdExistsError

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="needs exception tables")

ROOM = [f"index{os.sep}_{part}.py" for part in ("hamming_index", "kept", "file", "follow", "ids")]
FILES = (*(f"thpi{os.sep}{name}" for name in ["_files.py", *ROOM]), "contextlib.py")
Contents = dict[str, list[int]]
Operation = Callable[[HammingIndex], object]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, if there is one: thousands of changes wait for a disk otherwise."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def code(*bits: int) -> np.ndarray:
    return np.array([bits], dtype=np.uint8)


def contents(index: HammingIndex) -> Contents:
    return {str(item): row.tolist() for item, row in index}


def make(path: Path) -> Contents:
    index = HammingIndex(16)
    index.add(np.array([[1, 2], [3, 4], [5, 6]], dtype=np.uint8), ["a", "b", "c"])
    index.save(path)
    return contents(index)


def with_new(before: Contents) -> Contents:
    return before | {"new": [7, 8]}


def without_b(before: Contents) -> Contents:
    return {item: row for item, row in before.items() if item != "b"}


OPERATIONS: dict[str, tuple[Operation, Callable[[Contents], Contents]]] = {
    "add": (lambda index: index.add(code(7, 8), ["new"]), with_new),
    "remove": (lambda index: index.remove(["b"]), without_b),
    "save": (lambda index: index.save(getattr(index._file or index._follower, "path")), dict),  # noqa: B009
}


def attack(folder: Path, mode: str, name: str, n: int, again: int | None) -> bool:
    """Interrupt an operation at the n-th place, and another one after it; False if there is no such place."""
    path, (operation, change) = folder / "shop.index", OPERATIONS[name]
    before = make(path)
    index = HammingIndex.open(path, mode)  # type: ignore[arg-type]
    allowed = [before, change(before)]
    try:
        interrupted(lambda: operation(index), FILES, n)
        index.close()
        return False
    except KeyboardInterrupt:
        pass
    assert contents(index) in allowed
    assert contents(HammingIndex.open(path)) in allowed
    assert index.get_codes(["a", "c"]).tolist() == [before["a"], before["c"]]
    victims = [open(folder / f"victim{i}", "w+b") for i in range(4)]  # noqa: SIM115 - they get the numbers of closed files
    if again is not None:
        try:
            interrupted(lambda: index.add(code(9, 9), ["second"]), FILES, again)
        except KeyboardInterrupt:
            allowed += [some | {"second": [9, 9]} for some in allowed]
        else:
            allowed = [some | {"second": [9, 9]} for some in allowed]
    index.add(code(10, 11), ["later"])  # acknowledged
    allowed = [some | {"later": [10, 11]} for some in allowed]
    assert contents(index) in allowed
    assert contents(HammingIndex.open(path)) == contents(index)
    with suppress(IdExistsError, KeyError):  # if it was done before the interruption
        operation(index)
    assert contents(index) in allowed[len(allowed) // 2 if again is None else 1 :]
    assert contents(HammingIndex.open(path)) == contents(index)
    index.close()
    for victim in victims:
        assert victim.read() == b""
        victim.close()
    HammingIndex.open(path, "a").close()  # nobody has kept the lock
    assert [name for name in os.listdir(folder) if name.startswith(".")] == []
    return True


@pytest.mark.slow
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("mode", ["a", "shared"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_interrupted_change_is_whole_and_the_index_goes_on(folder: Path, name: str, mode: str, twice: bool) -> None:
    n = 1
    while attack(folder, mode, name, n, 1 + 37 * n % 150 if twice else None):
        n += 1
    assert n > 50, "the places were not found"


@pytest.mark.parametrize("name", ["add", "remove"])
def test_an_interrupted_change_in_memory(name: str) -> None:
    operation, change = OPERATIONS[name]
    n = 0
    while True:
        n += 1
        index = HammingIndex(16)
        index.add(np.array([[1, 2], [3, 4], [5, 6]], dtype=np.uint8), ["a", "b", "c"])
        before = contents(index)
        try:
            interrupted(lambda: operation(index), FILES, n)  # noqa: B023
            break
        except KeyboardInterrupt:
            pass
        assert contents(index) in (before, change(before))
        now = contents(index)
        assert [item in index for item in ("a", "b", "c", "new")] == [item in now for item in ("a", "b", "c", "new")]
        index.add(code(10, 11), ["later"])
        assert contents(index) == now | {"later": [10, 11]}
        assert index.get_codes(["c", "later"]).tolist() == [[5, 6], [10, 11]]
    assert n > 10, "the places were not found"


def test_a_search_that_is_interrupted_while_it_tunes_leaves_the_next_one_free_to_tune() -> None:
    queries = np.zeros((1, 1), dtype=np.uint8)

    def filled() -> HammingIndex:
        index = HammingIndex(8, recall=0.9)
        index.add(np.arange(20, dtype=np.uint8)[:, None])
        return index

    filled().search(queries)  # compiles the kernels, which takes long where every step is looked at
    for n in range(1, 1000):
        index = filled()
        try:
            interrupted(lambda: index.search(queries), (f"index{os.sep}_searching.py",), n)  # noqa: B023
        except KeyboardInterrupt:
            assert not index._tuning.locked()
        else:
            break
    assert n > 10
    assert index.report_ is not None
