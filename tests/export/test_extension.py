"""A destination that is registered from outside, in one place; the conformance suite runs on the toy store too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.collection import Collection
from thpi.export import DESTINATIONS, Destination


@pytest.fixture
def shop(tmp_path: Path) -> Collection:
    X = np.random.RandomState(0).standard_normal((40, 16))
    return thpi.build(tmp_path / "shop.thpi", X, bits=12, ids=[f"n{i}" for i in range(40)])


def test_the_command_finds_a_store_by_its_form(
    toy_store: Destination, shop: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.export.conftest import ToyStore

    assert run(["export", str(shop.path), "toy://shop", "--table", "items", "--json"]) == 0
    about = {"target": "toy://shop", "format": "toy", "table": "items", "items": 40, "bits": 12}
    about |= {"fingerprint": shop.model, "added": 40, "removed": 0, "replaced": False}
    assert json.loads(capsys.readouterr().out) == about
    with ToyStore("toy://shop", "items") as store:
        assert {item: code for item, code, _ in store} == {item: bytes(code) for item, code in shop}
    assert run(["export", str(shop.path), "x.txt"]) == 2
    assert "toy://" in capsys.readouterr().err


def test_a_kind_of_file_from_outside(
    shop: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(collection: Collection, target: str) -> dict[str, int]:
        Path(target).write_text("\n".join(f"{item},{code.tobytes().hex()}" for item, code in collection))
        return {"lines": len(collection)}

    monkeypatch.setitem(DESTINATIONS, "hex", Destination("hex", "lines of hexadecimal digits", (".hex",), write))
    target = tmp_path / "codes.hex"
    assert run(["export", str(shop.path), str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"target": str(target), "format": "hex", "lines": 40}
    assert target.read_text().splitlines()[7] == f"n7,{shop.codes_of(['n7']).tobytes().hex()}"
    assert run(["export", str(shop.path), str(target)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["export", str(shop.path), str(target), "--force", "--texts"]) == 2
    assert "texts=True is not for hex; for: parquet, pgvector" in capsys.readouterr().err


def test_it_is_gone_afterwards() -> None:
    assert not {"toy", "hex"} & set(DESTINATIONS)


def test_the_registry_imports_no_engine() -> None:
    code = "import sys, thpi.export; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert not modules & {"sklearn", "scipy", "pyarrow", "pymilvus", "apsw", "sqlite3", "lancedb", "psycopg", "onnx"}
