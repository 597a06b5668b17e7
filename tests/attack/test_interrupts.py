"""Ctrl-C within a change of a collection or an index, at every place: it goes on, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thpi
from tests.attack.interrupts import interrupted
from thpi.collection import Collection, Details, write
from thpi.index import HammingIndex

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="needs exception tables")

INDEX = tuple(f"thpi{os.sep}index{os.sep}_{part}.py" for part in ("hamming_index", "ids"))
COLLECTION = (
    *INDEX,
    *(f"thpi{os.sep}collection{os.sep}_{part}.py" for part in ("collection", "file")),
    "contextlib.py",
)
Contents = dict[str, list[int]]
MODEL = thpi.LSH(16, random_state=0).fit(np.eye(20))


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


def contents(index: HammingIndex | Collection) -> Contents:
    return {str(item): row.tolist() for item, row in index}


THREE = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.uint8)


def with_new(before: Contents) -> Contents:
    return before | {"new": [7, 8]}


def without_b(before: Contents) -> Contents:
    return {item: row for item, row in before.items() if item != "b"}


def theirs(path: Path) -> None:
    """What another process does."""
    with thpi.open(path) as other:
        other.add_codes(code(7, 8), ["new"])


Operation = Callable[[Collection], object]
OPERATIONS: dict[str, tuple[Operation, Callable[[Contents], Contents]]] = {
    "add": (lambda shop: shop.add_codes(code(7, 8), ["new"], details=[Details("cap")]), with_new),
    "remove": (lambda shop: shop.remove(["b"]), without_b),
    "refresh": (lambda shop: shop.refresh(), with_new),
}


def attack(folder: Path, name: str, n: int, again: int | None) -> bool:
    """Interrupt an operation at the n-th place, and another one after it; False if there is no such place."""
    path, (operation, change) = folder / "shop.thpi", OPERATIONS[name]
    write(path, MODEL, THREE, ["a", "b", "c"], about={})
    shop = Collection(path, wait=0)
    before = contents(shop)
    if name == "refresh":
        theirs(path)
    allowed = [before, change(before)]
    try:
        interrupted(lambda: operation(shop), COLLECTION, n)
        shop.close()
        return False
    except KeyboardInterrupt:
        pass
    assert contents(shop) in allowed
    with thpi.open(path) as other:
        assert contents(other) in allowed
    assert shop.codes_of(["a", "c"]).tolist() == [[1, 2], [5, 6]]
    if again is not None:
        try:
            interrupted(lambda: shop.add_codes(code(9, 9), ["second"]), COLLECTION, again)
        except KeyboardInterrupt:
            allowed += [some | {"second": [9, 9]} for some in allowed]
        else:
            allowed = [some | {"second": [9, 9]} for some in allowed]
    shop.add_codes(code(10, 11), ["later"])  # acknowledged
    allowed = [some | {"later": [10, 11]} for some in allowed]
    assert contents(shop) in allowed
    with suppress(ValueError, KeyError):  # if it was done before the interruption
        operation(shop)
    now = contents(shop)
    assert now in allowed[1::2]
    assert shop.search_codes(code(10, 11), 1).ids.tolist() == [["later"]]
    with thpi.open(path, wait=0) as other:
        assert contents(other) == now
        other.check()
        other.remove(["a"])  # nobody has kept the lock
    shop.refresh()
    assert "a" not in shop
    shop.close()
    assert os.listdir(folder) == ["shop.thpi"]
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("name", "twice"), [*((name, False) for name in OPERATIONS), ("add", True)])
def test_an_interrupted_change_is_whole_and_the_collection_goes_on(folder: Path, name: str, twice: bool) -> None:
    n = 1
    while attack(folder, name, n, 1 + 37 * n % 150 if twice else None):
        n += 1
    assert n > 50, "the places were not found"


@pytest.mark.slow
def test_an_interrupted_build_leaves_nothing_or_a_whole_file(folder: Path) -> None:
    path, n = folder / "new.thpi", 0
    files = (*COLLECTION, f"thpi{os.sep}collection{os.sep}_build.py", f"thpi{os.sep}_files.py")
    done = False
    while not done:
        n += 1
        path.unlink(missing_ok=True)
        with suppress(KeyboardInterrupt):
            interrupted(lambda: write(path, MODEL, THREE, ["a", "b", "c"], about={}), files, n)
            done = True
        if path.exists():
            with thpi.open(path) as shop:
                shop.check()
                assert len(shop) == 3
        # What an interruption leaves between making a temporary file and remembering it, the next writer removes.
        write(path, MODEL, THREE, ["a", "b", "c"], about={})
        assert os.listdir(folder) == ["new.thpi"]
    assert n > 50, "the places were not found"


IN_MEMORY: dict[str, tuple[Callable[[HammingIndex], Any], Callable[[Contents], Contents]]] = {
    "add": (lambda index: index.add(code(7, 8), ["new"]), with_new),
    "remove": (lambda index: index.remove(["b"]), without_b),
}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_an_interrupted_change_in_memory(name: str) -> None:
    operation, change = IN_MEMORY[name]
    n = 0
    while True:
        n += 1
        index = HammingIndex(16)
        index.add(THREE, ["a", "b", "c"])
        before = contents(index)
        try:
            interrupted(lambda: operation(index), INDEX, n)  # noqa: B023
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
            interrupted(lambda: index.search(queries), (f"index{os.sep}_hamming_index.py",), n)  # noqa: B023
        except KeyboardInterrupt:
            assert not index._tuning.locked()
        else:
            break
    assert n > 10
    assert index.report_ is not None
