from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.export import read_faiss, read_npy, read_parquet


@pytest.fixture
def expected(shop):
    hasher = thpi.load(shop / "shop.thpi")
    del hasher.feature_names_in_  # rows of a plain array have no names
    return hasher.transform(np.load(shop / "target.npy"))


@pytest.mark.parametrize(("name", "read"), [("c.npy", read_npy), ("c.parquet", read_parquet), ("c.faiss", read_faiss)])
def test_codes_are_those_of_the_model_in_every_format(shop, tmp_path, expected, name, read, capsys):
    assert run(["encode", str(shop / "shop.thpi"), str(shop / "target.npy"), str(tmp_path / name), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rows"], facts["bits"], facts["format"]) == (300, 24, name[2:])
    table = read(tmp_path / name)
    np.testing.assert_array_equal(table.codes, expected)
    np.testing.assert_array_equal(table.ids, np.arange(300))
    assert table.n_bits == 24


def test_columns_are_found_by_name_in_any_order(shop, tmp_path, expected):
    lines = [line.split(",") for line in (shop / "shop.csv").read_text().splitlines()]
    (tmp_path / "turned.csv").write_text("\n".join(",".join(reversed(cells)) for cells in lines))
    assert (
        run(["encode", str(shop / "shop.thpi"), str(tmp_path / "turned.csv"), str(tmp_path / "c.npy"), "--ids", "sku"])
        == 0
    )
    table = read_npy(tmp_path / "c.npy")
    np.testing.assert_array_equal(table.codes, expected)
    assert table.ids[:2].tolist() == ["A-000", "A-001"]


def test_ids_from_a_file(shop, tmp_path):
    (tmp_path / "ids.txt").write_text("\n".join(str(7 * i) for i in range(300)))
    command = ["encode", str(shop / "shop.thpi"), str(shop / "target.npy"), str(tmp_path / "c.npy")]
    assert run([*command, "--ids", str(tmp_path / "ids.txt")]) == 0
    np.testing.assert_array_equal(read_npy(tmp_path / "c.npy").ids, 7 * np.arange(300))


@pytest.mark.slow
def test_a_file_is_read_in_portions(shop, tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.float32, (1_200_000, 64))
    X[-1] = 1
    del X
    tracemalloc.start()
    try:
        assert run(["encode", str(shop / "shop.thpi"), str(tmp_path / "large.npy"), str(tmp_path / "c.npy")]) == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "large.npy").stat().st_size > 300e6
    assert peak < 150e6
    assert len(read_npy(tmp_path / "c.npy").codes) == 1_200_000


def test_bad_input_is_one_line_and_leaves_nothing(shop, tmp_path, refused):
    model, target, codes = shop / "shop.thpi", shop / "target.npy", tmp_path / "c.npy"
    np.save(tmp_path / "narrow.npy", np.zeros((3, 5)))
    assert "has 5 columns of features; the model was fitted on 64" in refused(
        ["encode", model, tmp_path / "narrow.npy", codes]
    )
    assert "must end in .npy, .parquet, .faiss" in refused(["encode", model, target, tmp_path / "c.txt"])
    assert "is a npy file; a model is needed" in refused(["encode", target, target, codes])
    assert "is not a thpi model" in refused(["encode", shop / "labels.txt", target, codes])
    assert "has 300 ids; DATA has 3 rows" in refused(
        ["encode", model, _three(shop, tmp_path), codes, "--ids", shop / "labels.txt"]
    )
    assert "10 ids occur more than once: '2', '5', '3' and 7 more." in refused(
        ["encode", model, shop / "shop.csv", codes, "--ids", "digit"]
    )
    (tmp_path / "few.csv").write_text("kar0,kar1\n1,2\n")
    assert "no column 'kar2', which is one of the features" in refused(["encode", model, tmp_path / "few.csv", codes])
    assert not codes.exists()
    codes.write_text("mine")
    assert "--force" in refused(["encode", model, target, codes])
    assert codes.read_text() == "mine"


def _three(shop, tmp_path):
    np.save(tmp_path / "three.npy", np.load(shop / "target.npy")[:3])
    return tmp_path / "three.npy"
