"""Files that were cut off, or made to do harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from thpi.tables import load_array

ROOT = Path(__file__).resolve().parents[2]


def _csr(**changes: object) -> dict[str, object]:
    matrix = sparse.random(20, 30, density=0.2, format="csr", random_state=0)
    whole = {"format": b"csr", "shape": matrix.shape, "data": matrix.data, "indices": matrix.indices}
    return {**whole, "indptr": matrix.indptr, **changes}


INDICES, INDPTR = (np.asarray(_csr()[name]) for name in ("indices", "indptr"))
WRONG: dict[str, dict[str, object]] = {
    "far column": _csr(indices=INDICES + 2**30),
    "negative column": _csr(indices=-INDICES - 1),
    "shrinking rows": _csr(indptr=np.concatenate([INDPTR[:1], INDPTR[1:-1][::-1], INDPTR[-1:]])),
    "rows beyond the end": _csr(indptr=np.where(np.arange(21) == 20, 10**9, INDPTR)),
    "fewer rows": _csr(shape=(19, 30)),
    "negative shape": _csr(shape=(-20, 30)),
    "other shape": _csr(shape=(20,)),
    "float indices": _csr(indices=INDICES + 0.5),
    "short data": _csr(data=np.ones(3)),
    "no indices": {name: value for name, value in _csr().items() if name != "indices"},
    "columns, far row": _csr(format=b"csc", shape=(30, 20), indices=INDICES + 2**30),
    "unknown format": _csr(format=b"magic"),
    "format is a number": _csr(format=np.arange(3)),
    "coordinates": {"format": b"coo", "shape": (3, 3), "data": np.ones(1), "row": [5], "col": [0]},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sparse_matrix_is_an_error(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "wrong.npz", **{key: np.asarray(value) for key, value in WRONG[name].items()})
    with pytest.raises(ValueError, match=r"X='.*wrong\.npz' is not readable"):
        load_array("X", tmp_path / "wrong.npz", None)


def test_a_right_sparse_matrix_is_read(tmp_path: Path) -> None:
    matrix = sparse.random(20, 30, density=0.2, random_state=0)
    for form in ("csr", "csc", "coo", "bsr", "dia"):
        sparse.save_npz(tmp_path / "right.npz", matrix.asformat(form))
        np.testing.assert_array_equal(load_array("X", tmp_path / "right.npz", None).toarray(), matrix.toarray())


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "scale"), [("hostile files", 0.1), ("damaged files", 0.03), ("kills", 0.05)])
def test_a_short_attack_finds_nothing(attack: str, scale: float) -> None:
    """Hostile and damaged files are one clear error; what was acknowledged before a kill is there."""
    command = [sys.executable, "-m", "benchmarks.attack", attack, "--scale", str(scale), "--seed", "7"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert ", 0 wrong" in answer.stdout.splitlines()[-1]
