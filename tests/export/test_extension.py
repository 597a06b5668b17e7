"""A store that is registered from outside is reached by the command line; the conformance suite runs on it too."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from thpi import export
from thpi.cli import run
from thpi.codes import pack
from thpi.export import FORMATS, STORES, StoreInfo, read_npy, write_npy

MODEL = "c4e8709f0e821f23"


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    path = tmp_path / "codes.npy"
    write_npy(path, pack(np.random.RandomState(0).rand(40, 12) < 0.5), 12, [f"n{i}" for i in range(40)], MODEL)
    return path


@pytest.mark.parametrize("how", [["toy://shop"], ["elsewhere", "--format", "toy"]])
def test_export_finds_it_by_address_and_by_name(
    toy_store: StoreInfo, codes: Path, how: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(codes), *how, "--table", "shop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "target": how[0],
        "format": "toy",
        "table": "shop",
        "codes": 40,
        "bits": 12,
        "codes_there": 40,
    }
    store = toy_store.connect(how[0], "shop", n_bits=None, token="", model=MODEL, any_model=False)
    stored, expected = dict(store), read_npy(codes)
    assert list(stored) == expected.ids.tolist()
    np.testing.assert_array_equal(np.stack(list(stored.values())), expected.codes)


def test_the_lists_name_it(toy_store: StoreInfo, codes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--formats"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in [*FORMATS, *STORES])
    assert "a dict in memory" in listed
    assert run(["export", str(codes), "x", "--format", "nothing"]) == 2
    assert capsys.readouterr().err.rstrip().endswith(f"{', '.join([*FORMATS, *STORES])} or onnx.")
    assert run(["export", str(codes), "x.txt"]) == 2
    assert "toy://" in capsys.readouterr().err


def test_a_file_format_from_outside(
    codes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(path, codes, n_bits, ids, model):
        np.savez(Path(path).with_suffix(".npz"), codes=codes, n_bits=n_bits, model=model)
        Path(path).with_suffix(".npz").replace(path)

    toy = replace(FORMATS["npy"], name="toyfile", suffix=".toy", signatures=(b"PK",), write=write)
    monkeypatch.setitem(FORMATS, toy.name, toy)
    assert run(["export", str(codes), str(tmp_path / "codes.toy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "toyfile"
    assert np.load(tmp_path / "codes.toy")["n_bits"] == 12
    assert np.load(tmp_path / "codes.toy")["model"] == MODEL


def test_it_is_gone_afterwards() -> None:
    assert "toy" not in STORES
    assert "toyfile" not in FORMATS


def test_the_registries_import_no_engine() -> None:
    """Commands that open a file of codes read the registries, so these must import neither stores nor libraries."""
    code = "import sys, thpi.export; thpi.export.STORES, thpi.export.FORMATS; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert not modules & {"sklearn", "scipy", "pyarrow", "pymilvus", "apsw", "sqlite3", "lancedb", "psycopg"}
    ours = {name for name in modules if name.startswith("thpi.export.")}
    assert ours == {"thpi.export._files", "thpi.export._store", "thpi.export._table"}


def test_every_public_name_is_found() -> None:
    assert all(hasattr(export, name) for name in export.__all__)
    assert set(export.__all__) <= set(dir(export))
    with pytest.raises(AttributeError, match="nothing"):
        export.nothing  # noqa: B018
