from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thpi.codes import pack
from thpi.index import HammingIndex, IndexFileError, IndexLockedError


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5)


def contents(index: HammingIndex) -> list[tuple[object, list[int]]]:
    return [(item, code.tolist()) for item, code in index]


@pytest.fixture(params=["int64", "string"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a file with a snapshot and five records after it."""
    path = tmp_path / "shop.index"
    name = (lambda i: i * 3 - 7) if request.param == "int64" else (lambda i: f"item {i} ü")
    index = HammingIndex(13, recall=0.9, random_state=5)
    index.add(random_codes(6, 13), [name(i) for i in range(6)])
    index.save(path)
    with HammingIndex.open(path, "a") as index:
        for i in range(6, 9):
            index.add(random_codes(1, 13, seed=i), [name(i)])
        index.remove([name(2), name(7)])
        index.add(random_codes(2, 13, seed=9), [name(7), name(9)])
    return path


def test_round_trip(path: Path) -> None:
    index = HammingIndex.open(path)
    assert (index.n_bits, index.recall, index.random_state, len(index)) == (13, 0.9, 5, 9)
    copy = path.parent / "copy.index"
    index.save(copy)
    assert contents(HammingIndex.open(copy)) == contents(index)
    assert copy.stat().st_size < path.stat().st_size


def test_empty_round_trip(tmp_path: Path) -> None:
    HammingIndex(5).save(tmp_path / "empty")
    assert len(HammingIndex.open(tmp_path / "empty")) == 0


def test_saving_twice_gives_the_same_bytes(path: Path) -> None:
    index = HammingIndex.open(path)
    index.save(path.parent / "a")
    index.save(path.parent / "b")
    assert (path.parent / "a").read_bytes() == (path.parent / "b").read_bytes()


def test_every_truncation_is_one_clear_error(path: Path) -> None:
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(IndexFileError, match=r"shop\.index"):
            HammingIndex.open(path)


def test_every_flipped_byte_is_an_error_or_changes_nothing(path: Path) -> None:
    data, right = path.read_bytes(), contents(HammingIndex.open(path))
    unharmed = 0
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x41
        path.write_bytes(changed)
        try:
            index = HammingIndex.open(path)
        except IndexFileError:
            continue
        unharmed += 1
        assert contents(index) == right
    # One slot may be damaged: the other one and the records' checksums still tell the whole.
    assert unharmed == 96


def test_unfinished_write_at_the_end_is_ignored_and_cut_off(path: Path) -> None:
    data, right = path.read_bytes(), contents(HammingIndex.open(path))
    for tail in (b"\x01", bytes(41), os.urandom(300), data[-60:-10]):
        path.write_bytes(data + tail)
        assert contents(HammingIndex.open(path)) == right
        with HammingIndex.open(path, "a") as index:
            assert contents(index) == right
        assert len(path.read_bytes()) == len(data)


def test_damaged_slot_and_damaged_record_are_an_error(path: Path) -> None:
    data = path.read_bytes()
    for slot in (10, 60):
        changed = bytearray(data)
        changed[slot] ^= 1
        changed[-1] ^= 1
        path.write_bytes(changed)
        with pytest.raises(IndexFileError, match="altered"):
            HammingIndex.open(path)


def test_whole_record_that_was_not_acknowledged_is_used(path: Path) -> None:
    before = path.read_bytes()
    with HammingIndex.open(path, "a") as index:
        index.add(random_codes(1, 13), ids=[999] if index.id_kind == "int64" else ["999"])
        after = contents(index)
    data = bytearray(path.read_bytes())
    data[8:104] = before[8:104]  # as if killed between the record and its acknowledgement
    path.write_bytes(data)
    assert contents(HammingIndex.open(path)) == after


def test_additions_are_there_without_save_or_close(tmp_path: Path) -> None:
    HammingIndex(16).save(tmp_path / "i")
    writer = HammingIndex.open(tmp_path / "i", "a")
    writer.add(random_codes(3, 16))
    assert len(HammingIndex.open(tmp_path / "i")) == 3, "readers need no lock"
    writer.save()
    writer.add(random_codes(2, 16))
    assert len(HammingIndex.open(tmp_path / "i")) == 5, "after save it writes to the new file"
    writer.close()
    with pytest.raises(ValueError, match="mode='a'"):
        writer.add(random_codes(1, 16))


def test_one_writer(path: Path) -> None:
    with HammingIndex.open(path, "a"):
        with pytest.raises(IndexLockedError, match=r"shop\.index"):
            HammingIndex.open(path, "a")
        with pytest.raises(IndexLockedError, match=r"shop\.index"):
            HammingIndex(8).save(path)
    HammingIndex(8).save(path)
    assert HammingIndex.open(path).n_bits == 8


def test_read_only_index_is_not_changed(path: Path) -> None:
    index = HammingIndex.open(path)
    with pytest.raises(ValueError, match="mode='r'"):
        index.add(random_codes(1, 13))
    with pytest.raises(ValueError, match="path=None"):
        index.save()
    with pytest.raises(ValueError, match="mode='w'"):
        HammingIndex.open(path, "w")  # type: ignore[arg-type]


def test_foreign_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        HammingIndex.open(tmp_path / "missing")
    for content in (b"", b"thpi-idx", bytes(200), b"\x93NUMPY" * 50, b"thpi-idx" + b"\xff" * 300):
        (tmp_path / "foreign").write_bytes(content)
        with pytest.raises(IndexFileError, match="foreign"):
            HammingIndex.open(tmp_path / "foreign")


def test_valid_checksum_does_not_excuse_wrong_content(tmp_path: Path) -> None:
    from thpi.index._format import snapshot_bytes

    header = {"thpi": "0", "n_bits": 4, "recall": None, "random_state": 0, "report": None}
    codes, ids = np.zeros((2, 1), dtype=np.uint8), np.array([1, 2])
    for wrong in (
        snapshot_bytes({**header, "n_bits": "4"}, codes, ids),
        snapshot_bytes({**header, "n_bits": 40}, codes, ids),
        snapshot_bytes({**header, "recall": 7}, codes, ids),
        snapshot_bytes({**header, "report": {"kind": "magic"}}, codes, ids),
        snapshot_bytes({**header, "version": 2}, codes, ids),
        snapshot_bytes({"n_bits": 4}, codes, ids),
        snapshot_bytes(header, codes + np.uint8(16), ids),
        snapshot_bytes(header, codes, np.array([1, 1])),
        snapshot_bytes(header, codes, np.array([1, 2, 3])),
    ):
        (tmp_path / "wrong").write_bytes(wrong[0])
        with pytest.raises(IndexFileError, match="wrong"):
            HammingIndex.open(tmp_path / "wrong")
    (tmp_path / "wrong").write_bytes(snapshot_bytes(header, codes, ids)[0])
    assert len(HammingIndex.open(tmp_path / "wrong")) == 2


def test_full_disk_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    program = """
import resource, signal, sys, numpy as np
from thpi.index import HammingIndex
path = sys.argv[1]
index = HammingIndex.open(path, "a")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    index.add(np.zeros((5000, 2), dtype=np.uint8))
except OSError:
    print("refused", len(index))
"""
    path = tmp_path / "i"
    index = HammingIndex(16)
    index.add(random_codes(10, 16))
    index.save(path)
    answer = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["refused", "10"]
    assert len(HammingIndex.open(path)) == 10


def test_leftovers_of_killed_saves_are_removed(path: Path) -> None:
    leftover = path.parent / f".{path.name}.0123456789abcdef.thpi-tmp"
    leftover.write_bytes(b"part")
    HammingIndex.open(path)
    assert leftover.exists()
    HammingIndex.open(path, "a").close()
    assert not leftover.exists()
