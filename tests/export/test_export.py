"""The command ``thpi export``: files, real engines and ONNX from one collection."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thpi
from tests.export.conftest import CONNECT
from thpi.cli import run
from thpi.collection import Collection, Details
from thpi.export import DESTINATIONS, read_parquet, write

STORES = [name for name, entry in DESTINATIONS.items() if not entry.is_file]


@pytest.fixture
def shop(tmp_path: Path) -> Collection:
    """Give 60 items of which some have texts, in a two-sided model."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((60, 5))
    X = np.hstack([S, rng.standard_normal((60, 15))])
    ids = [f"A-{i}" for i in range(60)]
    about = {item: Details(f"item {item}") for item in ids[::2]}
    hasher = thpi.TwoSidedITQ(4, random_state=0)
    return thpi.build(tmp_path / "shop.thpi", X, privileged=S, ids=ids, hasher=hasher, details=about)


@pytest.fixture
def export(shop: Collection, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Give a function that exports the collection; it returns the facts, or the one line of an error."""

    def call(target: object, *options: str) -> Any:
        capsys.readouterr()
        if run(["export", str(shop.path), str(target), *options, "--json"]) == 0:
            return json.loads(capsys.readouterr().out)
        captured = capsys.readouterr()
        assert captured.out == ""
        (line,) = captured.err.splitlines()
        return line

    return call


def texts_of(shop: Collection) -> list[str | None]:
    return [shop.details(item).text for item in shop.ids]


def test_files_hold_the_collection(shop: Collection, tmp_path: Path, export: Any) -> None:
    facts = export(tmp_path / "c.parquet")
    assert (facts["format"], facts["items"], facts["bits"]) == ("parquet", 60, 4)
    found = read_parquet(tmp_path / "c.parquet")
    np.testing.assert_array_equal(found.codes, shop.codes_of(shop.ids))
    assert (found.ids.tolist(), found.n_bits, found.model) == (shop.ids.tolist(), 4, shop.hasher.fingerprint_)
    assert found.texts is None
    assert export(tmp_path / "c.npy")["items"] == 60
    rows = np.load(tmp_path / "c.npy")
    assert rows.dtype.names == ("id", f"code:bits=4:order=little:model={shop.model}")
    assert (rows["id"].tolist(), rows[rows.dtype.names[1]].tolist()) == (found.ids.tolist(), found.codes.tolist())
    shop.remove(["A-3"])
    for name in ("c.parquet", "c.npy"):
        assert "exists already; --force replaces it" in export(tmp_path / name)
        assert export(tmp_path / name, "--force")["items"] == 59
    assert read_parquet(tmp_path / "c.parquet").ids.tolist() == np.load(tmp_path / "c.npy")["id"].tolist()
    assert "A-3" not in np.load(tmp_path / "c.npy")["id"]


def test_texts_are_for_parquet_and_stores(shop: Collection, tmp_path: Path, export: Any) -> None:
    export(tmp_path / "c.parquet", "--texts")
    assert read_parquet(tmp_path / "c.parquet").texts == texts_of(shop)
    assert "texts=True is not for npy; for: parquet, pgvector, sqlite-vec" in export(tmp_path / "c.npy", "--texts")
    assert "table='t' is not for parquet" in export(tmp_path / "d.parquet", "--table", "t")
    assert "side='source' is not for npy; for: onnx" in export(tmp_path / "c.npy", "--side", "source")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.parquet", "shop.thpi"]


def test_faiss_takes_integer_ids_only(tmp_path: Path, export: Any) -> None:
    import faiss

    assert "a faiss index file holds integers only" in export(tmp_path / "c.faiss")
    X = np.random.RandomState(0).standard_normal((30, 16))
    shop = thpi.build(tmp_path / "numbers.thpi", X, bits=16, ids=np.arange(30) * 3)
    assert write(shop, tmp_path / "c.faiss")["items"] == 30
    index = faiss.read_index_binary(str(tmp_path / "c.faiss"))
    np.testing.assert_array_equal(index.search(shop.codes_of(shop.ids), 1)[1][:, 0], shop.ids)


@pytest.mark.parametrize("store", [pytest.param(name, marks=pytest.mark.slow) for name in STORES])
def test_a_table_mirrors_the_collection(
    shop: Collection, address_of: Callable[[str], str], export: Any, store: str
) -> None:
    address, table = address_of(store), f"cli_{np.random.RandomState().randint(10**9)}"

    def rows() -> dict[Any, tuple[bytes, str | None]]:
        with CONNECT[store](address, table) as opened:
            return {item: (code, text or None) for item, code, text in opened}

    def expected() -> dict[Any, tuple[bytes, str | None]]:
        codes = map(bytes, shop.codes_of(shop.ids))
        return dict(zip(shop.ids, zip(codes, texts_of(shop), strict=True), strict=True))

    options = "--table", table, "--texts"
    facts = export(address, *options)
    assert (facts["format"], facts["table"], facts["added"], facts["removed"]) == (store, table, 60, 0)
    assert rows() == expected()
    assert export(address, *options)["added"] == 0
    shop.add_codes(shop.codes_of(["A-1"]), ["B-1"])
    assert export(address, *options)["added"] == 1
    shop.remove(["A-7", "A-8"])
    assert "has 2 items that the collection has not" in export(address, *options)
    assert export(address, *options, "--force")["removed"] == 2
    assert rows() == expected()
    before = shop.hasher.fingerprint_
    other = thpi.LSH(4, random_state=9).fit(np.eye(20))
    shop.replace(other, other.transform(np.random.RandomState(3).standard_normal((59, 20))), shop.ids)
    refused = export(address, *options)
    assert before in refused
    assert other.fingerprint_ in refused
    assert export(address, *options, "--force")["replaced"]
    assert rows() == expected()


def test_bad_input_is_one_line(shop: Collection, tmp_path: Path, export: Any) -> None:
    line = export(tmp_path / "x.txt")
    assert "must have the form of a file or store: *.npy, *.parquet, *.faiss, *.onnx, postgresql://..., " in line
    (tmp_path / "x.npy").write_text("mine")
    assert "--force" in export(tmp_path / "x.npy")
    assert (tmp_path / "x.npy").read_text() == "mine"
    (tmp_path / "text.sqlite").write_text("no database" * 100)
    assert "sqlite-vec says: " in export(tmp_path / "text.sqlite")
    assert "the folder" in export(tmp_path / "none" / "x.sqlite")
    assert "table='a b' must be letters" in export(tmp_path / "x.sqlite", "--table", "a b")
    pytest.importorskip("psycopg")
    line = export("postgresql://shop:secret@127.0.0.1:1/shop")
    assert "pgvector says" in line
    assert "secret" not in line


@pytest.mark.parametrize("side", ["target", "source"])
def test_the_hash_function_becomes_onnx(shop: Collection, tmp_path: Path, export: Any, side: str) -> None:
    import onnxruntime

    target = tmp_path / "shop.onnx"
    facts = export(target, "--side", side)
    assert facts["checked"] == {"rows": 1000, "bits": 4_000, "at_zero": 0}
    assert facts["features"] == {"target": 20, "source": 5}[side]
    X = np.random.RandomState(1).standard_normal((50, facts["features"])).astype(np.float32)
    (codes,) = onnxruntime.InferenceSession(target).run(["codes"], {"rows": X})
    coder = shop.hasher if side == "target" else shop.hasher.source_side
    np.testing.assert_array_equal(codes, coder.transform(X))
    assert "exists already" in export(target)
    assert "side='x' must be" in export(tmp_path / "b.onnx", "--side", "x")
    assert run(["export", str(shop.path), str(target), "--force"]) == 0


def test_without_a_package_the_extra_is_named_before_any_work(
    tmp_path: Path, export: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, target in (("onnx", "a.onnx"), ("lancedb", "a.lancedb"), ("pymilvus", "a.db")):
        monkeypatch.setitem(sys.modules, package, None)
        extra = {"pymilvus": "milvus"}.get(package, package)
        assert f'pip install "thpi[{extra}]"' in export(tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == ["shop.thpi"]


def test_without_onnxruntime_the_file_is_written_unchecked(
    shop: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert run(["export", str(shop.path), str(tmp_path / "a.onnx")]) == 0
    assert "no: onnxruntime is not installed" in capsys.readouterr().out
