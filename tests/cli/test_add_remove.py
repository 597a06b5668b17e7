from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

import thpi
from thpi.cli import run


@pytest.fixture
def more(shop, tmp_path):
    """Give a table of five further items."""
    lines = (shop / "shop.csv").read_text().splitlines()
    (tmp_path / "more.csv").write_text("\n".join([lines[0], *(line.replace("A-", "N-") for line in lines[1:6])]))
    return tmp_path / "more.csv"


def test_items_are_added_and_removed(shop, collection, more, tmp_path, capsys):
    assert run(["add", str(collection), str(more), "--id", "sku", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["added"], facts["items"]) == (5, 305)
    with thpi.open(collection) as made:
        assert made.version == facts["version"]
        assert made.ids[300:].tolist() == [f"N-{i:03d}" for i in range(5)]
        expected = made.hasher.transform(np.load(shop / "target.npy")[:5])
        np.testing.assert_array_equal(made.codes_of(made.ids[300:]), expected)
    (tmp_path / "sold.csv").write_text("sku,when\nA-003,today\nA-005,today\n")
    assert run(["remove", str(collection), "N-002", "--from", f"{tmp_path}/sold.csv:sku", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 3
    with thpi.open(collection) as made:
        assert len(made) == 302
        assert not {"A-003", "A-005", "N-002"} & set(made.ids)
        made.check()


def test_all_or_none(shop, collection, more, refused):
    before = collection.read_bytes()
    text = more.read_text()
    more.write_text(text.replace("N-004", "A-004"))
    assert "ids='A-004' is in the collection already" in refused(["add", collection, more, "--id", "sku"])
    more.write_text(text.replace("N-004", "N-001"))
    assert "1 ids occur more than once: 'N-001'" in refused(["add", collection, more, "--id", "sku"])
    assert "ids='B-1' is not among the items" in refused(["remove", collection, "A-000", "B-1"])
    assert collection.read_bytes() == before


def test_bad_input_is_one_line_and_changes_nothing(shop, collection, tmp_path, refused):
    before = collection.read_bytes()
    np.save(tmp_path / "narrow.npy", np.zeros((3, 5)))
    assert "has 5 columns of features; the model was fitted on 64" in refused(
        ["add", collection, tmp_path / "narrow.npy"]
    )
    assert "the ids stored here are strings; pass ids" in refused(["add", collection, shop / "target.npy"])
    assert "has 300 ids; DATA has 3 rows" in refused(
        ["add", collection, _three(shop, tmp_path), "--ids", _names(tmp_path, 300)]
    )
    (tmp_path / "few.csv").write_text("kar0,kar1\n1,2\n")
    assert "no column 'kar2', which is one of the features" in refused(["add", collection, tmp_path / "few.csv"])
    assert "name at least one id" in refused(["remove", collection])
    assert "is not a thpi collection" in refused(["remove", shop / "codes.npy", "A-000"])
    assert "does not exist" in refused(["add", tmp_path / "no.thpi", shop / "target.npy"])
    assert collection.read_bytes() == before


def test_rows_without_ids_are_numbered_on(shop, tmp_path):
    three, path = _three(shop, tmp_path), str(tmp_path / "m")
    assert run(["build", path, str(three), "--method", "LSH", "--bits", "8"]) == 0
    assert run(["add", path, str(three)]) == 0
    assert run(["remove", path, "1", "4"]) == 0
    assert run(["add", path, str(three), "--id", str(_names(tmp_path, 3, 7))]) == 0
    with thpi.open(path) as made:
        assert made.ids.tolist() == [0, 2, 3, 5, 7, 8, 9]


def test_another_writer_is_waited_for_and_named(shop, collection, more, refused, monkeypatch):
    import sqlite3

    other = sqlite3.connect(collection, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert "is being changed by another process" in refused(["remove", collection, "A-000"])
    finally:
        other.close()
    assert run(["remove", str(collection), "A-000"]) == 0


@pytest.mark.slow
def test_a_file_is_read_in_portions(shop, tmp_path):
    X = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.float32, (1_200_000, 64))
    X[-1] = 1
    del X
    assert run(["build", str(tmp_path / "m"), str(shop / "target.npy"), "--bits", "8"]) == 0
    tracemalloc.start()
    try:
        from thpi.tables import Choice, open_table

        rows = sum(len(batch.values) for batch in open_table(Choice("DATA", str(tmp_path / "large.npy"))).batches)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == 1_200_000
    assert (tmp_path / "large.npy").stat().st_size > 300e6
    assert peak < 150e6


def _three(shop, tmp_path):
    np.save(tmp_path / "three.npy", np.load(shop / "target.npy")[:3])
    return tmp_path / "three.npy"


def _names(tmp_path, n, start=0):
    (tmp_path / "names.txt").write_text("\n".join(str(start + i) for i in range(n)))
    return tmp_path / "names.txt"
