"""Indexes that several processes read and write: what others change is taken over, and nothing is lost."""

from __future__ import annotations

import io
import multiprocessing
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from thpi.codes import pack
from thpi.identity import ModelMismatchError
from thpi.index import HammingIndex, IndexFileError, IndexLockedError
from thpi.index._format import parse, record_bytes
from thpi.index._ids import IdExistsError

MODEL, OTHER = "c4e8709f0e821f23", "0d1f6f3f1c8e9b7a"


def codes(n: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, 24) < 0.5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    index = HammingIndex(24, model=MODEL)
    index.add(codes(50), [f"n{i}" for i in range(50)])
    index.save(tmp_path / "shop.index")
    return tmp_path / "shop.index"


def same(one: HammingIndex, other: HammingIndex) -> bool:
    return one.ids.tolist() == other.ids.tolist() and (one.codes == other.codes).all() and one.version == other.version


@pytest.mark.parametrize("mode", ["r", "shared"])
def test_what_another_adds_and_removes_is_taken_over(path: Path, mode: str) -> None:
    reader = HammingIndex.open(path, mode)
    assert not reader.refresh()
    with HammingIndex.open(path, "a") as writer:
        for step in range(4):
            writer.add(codes(3, seed=step + 1), [f"new{step}.{i}" for i in range(3)])
            if step % 2:
                writer.remove([f"n{step}", f"new{step}.1"])
                assert reader.refresh()
                assert same(reader, writer)
                assert same(reader, HammingIndex.open(path))
                assert reader.get_codes(["new1.2"]).tolist() == codes(3, seed=2)[2:].tolist()
        assert not reader.refresh()
        writer.save()  # another file, the same items
    assert reader.refresh()
    assert same(reader, HammingIndex.open(path))


def test_a_search_finishes_on_what_it_began_with(path: Path) -> None:
    reader = HammingIndex.open(path)
    state = reader._state
    before = state.rows.ids.copy(), state.rows.codes.copy()
    with HammingIndex.open(path, "a") as writer:
        writer.remove(["n0", "n7"])
        writer.add(codes(500, seed=1), [f"m{i}" for i in range(500)])
    assert reader.refresh()
    assert len(reader) == 548
    assert state.rows.ids.tolist() == before[0].tolist()
    np.testing.assert_array_equal(state.rows.codes, before[1])


def test_an_unfinished_write_is_ignored_until_it_is_whole_or_gone(path: Path) -> None:
    reader, donor = HammingIndex.open(path), path.with_name("donor")
    shutil.copy(path, donor)
    with HammingIndex.open(donor, "a") as writer:
        writer.add(codes(2, seed=1), ["x", "y"])
    start, whole = path.stat().st_size, donor.read_bytes()
    for cut in range(start + 1, len(whole)):
        path.write_bytes(whole[:8] + path.read_bytes()[8:104] + whole[104:cut])  # the slots do not include it
        reader.refresh()
        assert len(reader) == 50
    path.write_bytes(whole)
    assert reader.refresh()
    assert reader.ids[-2:].tolist() == ["x", "y"]


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("mode", ["r", "shared"])
def test_a_record_that_was_taken_back_does_not_stay(path: Path, n: int, mode: str) -> None:
    """A writer whose disk fails cuts its record off, or a copy is put back; other records then have the same place."""
    reader = HammingIndex.open(path, mode)
    whole = path.read_bytes()
    with HammingIndex.open(path, "a") as writer:
        writer.add(codes(1, seed=1), ["lost"])
    assert reader.refresh()
    assert "lost" in reader
    path.write_bytes(whole)
    with HammingIndex.open(path, "a") as writer:
        for i in range(n):
            writer.add(codes(1, seed=2), [f"new{i}"])  # as long as the lost one
    if mode == "shared":
        reader.add(codes(1, seed=3), ["own"])
    else:
        assert reader.refresh()
    assert same(reader, HammingIndex.open(path))
    assert "lost" not in reader


def test_a_file_that_cannot_be_used_leaves_the_index_as_it_was(path: Path) -> None:
    reader = HammingIndex.open(path)
    whole, version = path.read_bytes(), reader.version
    for content in (whole[:-3], b"", b"something else", bytes(len(whole))):
        path.write_bytes(content)
        with pytest.raises(IndexFileError):
            reader.refresh()
    path.unlink()
    with pytest.raises(FileNotFoundError):
        reader.refresh()
    for other, error in (
        (HammingIndex(16, model=MODEL), IndexFileError),
        (HammingIndex(24, model=OTHER), ModelMismatchError),
    ):
        other.save(path)
        for _ in range(2):
            with pytest.raises(error):
                reader.refresh()
    assert (len(reader), reader.version) == (50, version)
    path.write_bytes(whole)
    reader.refresh()
    with HammingIndex.open(path, "a") as writer:
        writer.add(codes(1, seed=1), ["back"])
    assert reader.refresh()
    assert "back" in reader


def test_shared_writers_see_each_other(path: Path) -> None:
    one, other = HammingIndex.open(path, "shared"), HammingIndex.open(path, "shared")
    for step in range(6):
        first, second = (one, other) if step % 2 else (other, one)
        first.add(codes(2, seed=step), [f"s{step}.0", f"s{step}.1"])
        with pytest.raises(IdExistsError, match=rf"s{step}\.1"):
            second.add(codes(1), [f"s{step}.1"])
        second.remove([f"s{step}.0"])
        with pytest.raises(KeyError, match=rf"s{step}\.0"):
            first.remove([f"s{step}.0"])
        assert same(one, other)
        assert same(one, HammingIndex.open(path))
    one.close()
    with pytest.raises(ValueError, match="opened with mode='r'"):
        one.add(codes(1), ["late"])


def test_a_shared_writer_waits_for_another_and_then_gives_up(path: Path) -> None:
    shared = HammingIndex.open(path, "shared", wait=0.05)
    patient = HammingIndex.open(path, "shared", wait=20)
    with HammingIndex.open(path, "a") as writer:
        with pytest.raises(IndexLockedError):
            shared.add(codes(1), ["x"])
        adding = threading.Thread(target=patient.add, args=(codes(1), ["patient"]))
        adding.start()
        time.sleep(0.1)
        writer.add(codes(1), ["first"])
    adding.join(20)
    assert HammingIndex.open(path).ids[-2:].tolist() == ["first", "patient"]
    shared.add(codes(1), ["x"])
    assert same(shared, HammingIndex.open(path))


def test_a_shared_writer_cuts_off_what_a_killed_one_left(path: Path) -> None:
    shared = HammingIndex.open(path, "shared")
    with open(path, "ab") as file:
        file.write(b"torn")
    shared.add(codes(1), ["x"])
    assert same(shared, HammingIndex.open(path))
    # A whole record that no slot includes: its writer was killed between the two.
    from thpi.index._format import Record, parse

    contents = parse(io.BytesIO(path.read_bytes()))
    data, _ = record_bytes(Record("a", np.array(["whole"], dtype=object), codes(1)), contents.digest)
    with open(path, "ab") as file:
        file.write(data)
    shared.add(codes(1), ["y"])
    assert shared.ids[-3:].tolist() == ["x", "whole", "y"]
    assert same(shared, HammingIndex.open(path))


class Growing(io.BytesIO):
    """A file to which another process adds a record as soon as its size was measured."""

    after = b""

    def seek(self, offset: int, whence: int = 0) -> int:
        position = super().seek(offset, whence)
        if whence == os.SEEK_END and self.after:
            super().seek(0)
            self.write(self.after)
            self.after = b""
        return position


def test_a_record_that_is_added_while_the_file_is_read_does_not_look_like_a_torn_one(path: Path) -> None:
    file = Growing(path.read_bytes())
    with HammingIndex.open(path, "a") as index:
        index.add(codes(1), ["added"])
    file.after = path.read_bytes()
    assert parse(file).codes.shape[0] == 50


def _write(path: str, name: str, n: int) -> None:
    index = HammingIndex.open(path, "shared", wait=60)
    for i in range(n):
        index.add(codes(1, seed=i), [f"{name}.{i}"])
        if i % 5 == 4:
            index.remove([f"{name}.{i - 2}"])


@pytest.mark.slow
def test_several_processes_write_one_file(path: Path) -> None:
    reader, n = HammingIndex.open(path), 40
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(os.fspath(path), f"w{w}", n)) for w in range(3)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        reader.refresh()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    reader.refresh()
    assert same(reader, HammingIndex.open(path))
    expected = {f"w{w}.{i}" for w in range(3) for i in range(n) if (i + 2) % 5 != 4} | {f"n{i}" for i in range(50)}
    assert set(reader.ids.tolist()) == expected


def test_a_replaced_file_is_tuned_before_it_is_searched(tmp_path: Path) -> None:
    X = np.random.RandomState(0).rand(30_000, 24) < 0.5
    index = HammingIndex(24, recall=0.8)
    index.add(pack(X))
    report = index.tune(5, kinds=["ivf"])
    # Chosen whether it was faster here or not.
    index._state = index._state._replace(report=replace(report, kind="ivf"))
    index.save(tmp_path / "i")
    reader = HammingIndex.open(tmp_path / "i")
    reader.search(pack(X[:1]), 5)
    assert reader._state.approximate is not None
    index.remove(range(100))
    index.save(tmp_path / "i")
    assert reader.refresh()
    assert reader._state.approximate is not None


def test_an_index_in_memory_has_no_version_and_nothing_to_take_over() -> None:
    index = HammingIndex(8)
    assert index.version is None
    assert not index.refresh()
