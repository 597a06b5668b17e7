from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from thpi.cli import run
from thpi.export import read_npy, write_npy
from thpi.index import HammingIndex


@pytest.fixture
def index(shop, tmp_path):
    shutil.copy(shop / "shop.index", tmp_path / "i")
    return tmp_path / "i"


def test_build_keeps_codes_and_ids(shop):
    table, index = read_npy(shop / "codes.npy"), HammingIndex.open(shop / "shop.index")
    np.testing.assert_array_equal(index.codes, table.codes)
    assert index.ids.tolist() == table.ids.tolist()
    assert index.recall is None


def test_build_with_recall_tells_what_it_measured(shop, tmp_path, capsys):
    assert run(["index", "build", str(shop / "codes.npy"), str(tmp_path / "i"), "--recall", "0.9"]) == 0
    assert "exact for recall 0.9 at k=10 over 300 codes; reached 1.0000" in capsys.readouterr().out
    assert run(["index", "info", str(tmp_path / "i"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["reached"] == 1


def test_add_and_remove(shop, index, tmp_path, capsys, refused):
    codes = read_npy(shop / "codes.npy").codes
    write_npy(tmp_path / "more.npy", codes[:2], 24, ids=["new-1", "new-2"], model=HammingIndex.open(index).model)
    assert run(["index", "add", str(index), str(tmp_path / "more.npy"), "--json"]) == 0
    facts = {"index": str(index), "added": 2, "codes": 302, "version": HammingIndex.open(index).version}
    assert json.loads(capsys.readouterr().out) == facts
    assert "'new-1' is in the index already" in refused(["index", "add", index, tmp_path / "more.npy"])
    (tmp_path / "sold.csv").write_text("sku,when\nA-003,today\nA-005,today\n")
    size = index.stat().st_size
    assert run(["index", "remove", str(index), "new-2", "--from", f"{tmp_path}/sold.csv:sku", "--compact"]) == 0
    assert index.stat().st_size < size
    kept = HammingIndex.open(index)
    assert len(kept) == 299
    assert kept.ids[-1] == "new-1"
    assert "A-003" not in kept
    assert "ids='A-003' is not in the index" in refused(["index", "remove", index, "A-000", "A-003"])
    assert "A-000" in HammingIndex.open(index)


def test_renumber_numbers_on(shop, tmp_path):
    codes = read_npy(shop / "codes.npy").codes
    write_npy(tmp_path / "c.npy", codes[:3], 24)
    assert run(["index", "build", str(tmp_path / "c.npy"), str(tmp_path / "i")]) == 0
    assert run(["index", "add", str(tmp_path / "i"), str(tmp_path / "c.npy")]) == 2
    assert run(["index", "add", str(tmp_path / "i"), str(tmp_path / "c.npy"), "--renumber"]) == 0
    assert run(["index", "remove", str(tmp_path / "i"), "1", "4"]) == 0
    assert HammingIndex.open(tmp_path / "i").ids.tolist() == [0, 2, 3, 5]


def test_plain_arrays_need_their_width(shop, tmp_path, refused):
    np.save(tmp_path / "plain.npy", np.array([[1, 2], [3, 1]], dtype=np.uint8))
    assert "with --bits" in refused(["index", "build", tmp_path / "plain.npy", tmp_path / "i"])
    assert run(["index", "build", str(tmp_path / "plain.npy"), str(tmp_path / "i"), "--bits", "10"]) == 0
    assert HammingIndex.open(tmp_path / "i").n_bits == 10


def test_bad_input_is_one_line_and_changes_nothing(shop, index, tmp_path, refused):
    before = index.read_bytes()
    codes = shop / "codes.npy"
    assert "--force" in refused(["index", "build", codes, index])
    assert "recall=2.0 must be" in refused(["index", "build", codes, tmp_path / "j", "--recall", "2"])
    assert "is a model" in refused(["index", "build", shop / "shop.thpi", tmp_path / "j"])
    assert "does not exist" in refused(["index", "info", tmp_path / "no"])
    assert "is a npy file; an index is needed" in refused(["index", "info", codes])
    assert "name at least one id" in refused(["index", "remove", index])
    write_npy(tmp_path / "wide.npy", np.zeros((1, 4), dtype=np.uint8), 32, ids=["w"])
    assert "codes of 32 bits, INDEX of 24" in refused(["index", "add", index, tmp_path / "wide.npy"])
    with HammingIndex.open(index, "a"):
        assert "open for writing elsewhere" in refused(["index", "remove", index, "A-000"])
    (tmp_path / "cut").write_bytes(before[:200])
    assert "not a usable thpi index" in refused(["index", "info", tmp_path / "cut"])
    assert index.read_bytes() == before
