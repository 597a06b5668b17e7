"""The file of an index: what was saved comes back, and anything else is one clear error."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.codes import pack
from thpi.index import HammingIndex, IndexFileError

MODEL = "c4e8709f0e821f23"


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5)


def contents(index: HammingIndex) -> list[tuple[object, list[int]]]:
    return [(item, code.tolist()) for item, code in index]


def rewritten(data: bytes, body: bytes | None = None, **changes: Any) -> bytes:
    """The bytes of a file with another header or body, and the digest that belongs to them."""
    length = int.from_bytes(data[40:48], "little")
    header = json.loads(data[48 : 48 + length])
    body = data[48 + length :] if body is None else body
    about = {name: value for name, value in (header | {"body": len(body)} | changes).items() if value != "gone"}
    text = json.dumps(about).encode()
    rest = len(text).to_bytes(8, "little") + text + body
    return data[:8] + hashlib.sha256(rest).digest() + rest


@pytest.fixture(params=["int64", "string"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a file of an index that was changed after it was made."""
    path = tmp_path / "shop.index"
    name = (lambda i: i * 3 - 7) if request.param == "int64" else (lambda i: f'item {i} ü "\n\0')
    index = HammingIndex(13, recall=0.9, random_state=5, model=MODEL)
    index.add(random_codes(9, 13), [name(i) for i in range(9)])
    index.remove([name(2), name(7)])
    index.add(random_codes(2, 13, seed=9), [name(7), name(9)])
    index.save(path)
    return path


def test_what_was_saved_comes_back(path: Path) -> None:
    index = HammingIndex.open(path)
    assert (index.n_bits, index.recall, index.random_state, index.model, len(index)) == (13, 0.9, 5, MODEL, 9)
    np.testing.assert_array_equal(index.codes[-2:], random_codes(2, 13, seed=9))
    np.testing.assert_array_equal(index.codes[:2], random_codes(9, 13)[:2])
    index.save(path.parent / "copy")
    assert contents(HammingIndex.open(path.parent / "copy")) == contents(index)
    assert (path.parent / "copy").read_bytes() == path.read_bytes()


def test_an_empty_index_comes_back(tmp_path: Path) -> None:
    HammingIndex(5).save(tmp_path / "empty")
    assert len(HammingIndex.open(tmp_path / "empty")) == 0
    texts = HammingIndex(5)
    texts.add([[1]], ["a"])
    texts.remove(["a"])
    texts.save(tmp_path / "emptied")
    assert len(HammingIndex.open(tmp_path / "emptied")) == 0


def test_every_truncation_is_one_clear_error(path: Path) -> None:
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(IndexFileError, match=r"shop\.index"):
            HammingIndex.open(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(IndexFileError, match="expected"):
        HammingIndex.open(path)


def test_every_flipped_byte_is_an_error(path: Path) -> None:
    data = path.read_bytes()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x41
        path.write_bytes(changed)
        with pytest.raises(IndexFileError, match=r"shop\.index"):
            HammingIndex.open(path)


def test_foreign_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        HammingIndex.open(tmp_path / "missing")
    for content in (b"", b"thpi-idx", bytes(200), b"\x93NUMPY" * 50, b"thpi-idx" + b"\xff" * 300):
        (tmp_path / "foreign").write_bytes(content)
        with pytest.raises(IndexFileError, match="foreign"):
            HammingIndex.open(tmp_path / "foreign")


@pytest.mark.parametrize(
    "changes",
    [
        {"n_bits": "12"},
        {"n_bits": 40},
        {"n_bits": 11},  # bits beyond the width
        {"n_bits": 2**24, "n": 0},
        {"n": -1},
        {"n": 8},
        {"n": 2**62},
        {"n": 9.0},
        {"recall": 7},
        {"random_state": -1},
        {"model": "me"},
        {"version": 1},
        {"version": 3},
        {"format": "other"},
        {"ids": "gone"},
        {"ids": "string", "body": None},
        {"recall": "gone"},
    ],
)
def test_a_right_checksum_does_not_excuse_wrong_content(tmp_path: Path, changes: dict[str, Any]) -> None:
    index = HammingIndex(12)
    index.add(random_codes(9, 12) | np.array([0, 8], np.uint8), range(9))
    index.save(tmp_path / "wrong")
    data = (tmp_path / "wrong").read_bytes()
    (tmp_path / "wrong").write_bytes(rewritten(data))
    assert len(HammingIndex.open(tmp_path / "wrong")) == 9
    (tmp_path / "wrong").write_bytes(rewritten(data, **changes))
    with pytest.raises(IndexFileError, match="wrong"):
        HammingIndex.open(tmp_path / "wrong")


@pytest.mark.parametrize(
    "ids", [b'["a","a"]', b'["a"]', b"[1,2]", b'["a",2]', b"{}", b"7", b"[[1],[2]]", b'["a","\\ud800"]', b"[" * 10_000]
)
def test_ids_that_no_index_has_are_refused(tmp_path: Path, ids: bytes) -> None:
    index = HammingIndex(8)
    index.add([[1], [2]], ["a", "b"])
    index.save(tmp_path / "wrong")
    data = (tmp_path / "wrong").read_bytes()
    (tmp_path / "wrong").write_bytes(rewritten(data, b"\1\2" + ids))
    with pytest.raises(IndexFileError, match="wrong"):
        HammingIndex.open(tmp_path / "wrong")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    program = """
import resource, signal, sys, numpy as np
from thpi.index import HammingIndex
index = HammingIndex.open(sys.argv[1])
index.add(np.zeros((5000, 2), dtype=np.uint8))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    index.save(sys.argv[1])
except OSError:
    print("refused", len(index))
"""
    path = tmp_path / "i"
    index = HammingIndex(16)
    index.add(random_codes(10, 16))
    index.save(path)
    answer = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["refused", "5010"]
    assert len(HammingIndex.open(path)) == 10
    assert os.listdir(tmp_path) == ["i"]
