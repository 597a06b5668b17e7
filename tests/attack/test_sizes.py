"""Small files that would fill the memory, and sparse ones that claim to be large: refused from their first bytes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import thpi
from thpi.collection import write
from thpi.index import HammingIndex
from thpi.tables import load_array

SPARSE = 6 * 2**30

# Prints a line for each file: the memory that reading takes beyond that of the imports, in MiB, and the answer.
_READ = """
import resource, sys
import safetensors.numpy, sqlite3, thpi, thpi.collection, thpi.encoder, thpi.hashers
from thpi.index import HammingIndex

def read(kind, path):
    if kind == "index":
        return len(HammingIndex.open(path))
    if kind == "collection":
        return len(thpi.open(path))
    return thpi.load(path)

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for kind, path in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        answer = read(kind, path)
    except ValueError as error:
        answer = error
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, answer)
"""


def _index(path: Path) -> bytes:
    index = HammingIndex(16)
    index.add(np.array([[1, 2], [3, 4]], dtype=np.uint8))
    index.save(path)
    return path.read_bytes()


def _claims_a_long_body(path: Path) -> None:
    """Consistent but for the checksum: it is read, block by block, and not kept."""
    size = SPARSE // 16
    n = (size - 300) // 10
    data = _index(path)
    length = int.from_bytes(data[40:48], "little")
    about = json.loads(data[48 : 48 + length]) | {"n": n, "body": 10 * n}
    header = json.dumps(about).encode().ljust(size - 48 - 10 * n)
    path.write_bytes(data[:40] + len(header).to_bytes(8, "little") + header)
    os.truncate(path, size)


def _collection(path: Path) -> None:
    write(path, thpi.LSH(16, random_state=0).fit(np.eye(20)), np.array([[1, 2], [3, 4]], np.uint8), [1, 2], about={})


def _model(path: Path) -> None:
    thpi.LSH(8, random_state=0).fit(np.eye(20)).save(path)


FILES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "nothing": ("index", lambda path: path.write_bytes(b""), "does not begin like one"),
    "first bytes only": ("index", lambda path: path.write_bytes(b"thpi-idx"), "header is not JSON|not that of one"),
    "long end": ("index", _index, "bytes, .* expected"),
    "long body": ("index", _claims_a_long_body, "checksum"),
    # SQLite knows how long its file is.
    "long collection": ("collection", _collection, "^2$"),
    "no collection": ("collection", lambda path: path.write_bytes(b"SQLite format 3"), "not a thpi collection"),
    "no model": ("model", lambda path: path.write_bytes(b""), "truncated, altered or of another format"),
    "long model": ("model", _model, "truncated, altered or of another format"),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """The memory that reading each file took, in MiB, and the answer, all from one process."""
    folder, arguments = tmp_path_factory.mktemp("sparse"), []
    for name, (kind, make, _) in FILES.items():
        path = folder / name.replace(" ", "-")
        make(path)
        if path.stat().st_size < 2**20:  # else it is sparse already
            os.truncate(path, SPARSE)
        arguments += [kind, str(path)]
    found = subprocess.run(
        [sys.executable, "-c", _READ, *arguments], capture_output=True, text=True, check=True, timeout=120
    )
    parts = (line.partition(" ") for line in found.stdout.splitlines())
    return {name: (int(memory), answer) for name, (memory, _, answer) in zip(FILES, parts, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_sparse_file_is_judged_by_its_first_bytes(answers: dict[str, tuple[int, str]], name: str) -> None:
    mebibytes, answer = answers[name]
    assert re.search(FILES[name][2], answer), answer
    assert mebibytes < 100, answer


def _bomb(path: Path, n_rows: int) -> None:
    """Write zeros to a compressed array, block by block."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("X.npy", "w") as file,
    ):
        about = {"descr": "<f8", "fortran_order": False, "shape": (n_rows, 1024)}
        np.lib.format.write_array_header_1_0(file, about)
        for _ in range(n_rows // 1024):
            file.write(bytes(2**23))


@pytest.mark.slow
def test_a_small_archive_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    _bomb(path, 150 * 1024)
    assert path.stat().st_size < 2**24
    with pytest.raises(
        ValueError, match=r"bomb\.npz.* unpacks from .* to 1,258,291,328 bytes, more than 1,073,741,824"
    ):
        load_array("DATA", path, None)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_limit_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path = tmp_path / "zeros.npz"
    X = np.zeros((2000, 50))
    if kind == "dense":
        np.savez_compressed(path, X=X)
    else:
        sparse.save_npz(path, sparse.csr_matrix(X + 1))
    monkeypatch.setattr("thpi.tables._arrays._MAX_UNPACKED", 10_000)
    with pytest.raises(ValueError, match="if you trust it, set THPI_MAX_UNPACKED=(?P<bytes>[0-9]+)") as refused:
        load_array("DATA", path, None)
    monkeypatch.setenv("THPI_MAX_UNPACKED", str(refused.value).rpartition("=")[2].rstrip("."))
    assert load_array("DATA", path, None).shape == (2000, 50)
    monkeypatch.setenv("THPI_MAX_UNPACKED", "much")
    with pytest.raises(ValueError, match="THPI_MAX_UNPACKED='much' must be a number of bytes"):
        load_array("DATA", path, None)


def test_what_hardly_compresses_has_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thpi.tables._arrays._MAX_UNPACKED", 10_000)
    X = np.random.RandomState(0).rand(200, 50)
    np.savez_compressed(tmp_path / "X.npz", X=X)
    np.testing.assert_array_equal(load_array("DATA", tmp_path / "X.npz", None), X)
