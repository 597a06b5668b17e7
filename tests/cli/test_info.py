from __future__ import annotations

import json

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.datasets import load_digits_views


def test_it_tells_what_a_collection_holds_and_where_it_came_from(shop, capsys):
    path = shop / "collection.thpi"
    assert run(["info", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["method"], facts["bits"], facts["features"], facts["items"]) == ("ITQ", 24, 64, 300)
    assert facts["columns"] == [f"kar{j}" for j in range(64)]
    assert facts["evidence"]["rows"] == 300
    assert facts["tables"] == {"data": "shop.csv"}
    assert (facts["thpi"], facts["settings"]["random_state"], facts["intact"]) == (thpi.__version__, 0, True)
    with thpi.open(path) as made:
        assert (facts["version"], facts["fingerprint"]) == (made.version, made.model)
    assert run(["info", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "collection.thpi" in lines[0]
    assert any(line.split() == ["bits", "24"] for line in lines)
    assert any(line.split() == ["learned", "from", "300", "rows", "of", "shop.csv"] for line in lines)


def test_damaged_and_foreign_files_are_one_line(shop, collection, tmp_path, refused):
    data = collection.read_bytes()
    with thpi.open(collection) as made:
        code = made.codes_of(["A-200"]).tobytes()
    at = data.rindex(code)  # wherever it is: in a row, or in the page that is searched
    for place in (data.index(code), at, len(data) // 2):
        broken = bytearray(data)
        broken[place] ^= 1
        (tmp_path / "broken.thpi").write_bytes(broken)
        refused(["info", tmp_path / "broken.thpi"])
    assert "is not a thpi collection" in refused(["info", shop / "shop.csv"])
    assert "does not exist" in refused(["info", tmp_path / "no"])
    assert run(["info", str(collection)]) == 0


def test_an_empty_collection_can_be_read(collection, capsys):
    with thpi.open(collection) as made:
        made.remove(made.ids)
    assert run(["info", str(collection)]) == 0
    assert "items" in capsys.readouterr().out


def test_drift(shop, tmp_path, capsys, refused):
    path = shop / "collection.thpi"
    new = load_digits_views(target="kar", source="fou")
    rows = np.random.RandomState(0).permutation(new.n)[300:]  # those that are not in the shop
    np.save(tmp_path / "new.npy", new.target[rows])
    np.save(tmp_path / "sevens.npy", new.target[rows][new.labels[rows] == 7])
    for name, drifted in (("new.npy", False), ("sevens.npy", True)):
        assert run(["info", str(path), "--drift", str(tmp_path / name), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["drifted"] is drifted
        assert found["measured_rows"] == 300
        assert len(found["share_change"]) == len(found["shift"]) == 24
    assert run(["info", str(path), "--drift", str(shop / "shop.csv")]) == 0  # columns by name
    assert "no clear difference (p = 1)" in capsys.readouterr().out
    assert "--drift='gone.npy' does not exist" in refused(["info", path, "--drift", "gone.npy"])


@pytest.mark.parametrize("words", [["--drift", "views.npz:same"]])
def test_rows_of_another_width_are_refused(shop, refused, words):
    assert "columns of features; the model was fitted on 64" in refused(
        ["info", shop / "collection.thpi", words[0], shop / words[1]]
    )
