from __future__ import annotations

import json

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.datasets import load_digits_views


def _facts(path, capsys):
    assert run(["info", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_tells_what_each_file_holds(shop, capsys):
    model = _facts(shop / "shop.thpi", capsys)
    assert (model["method"], model["bits"], model["features"], model["fitted_on"]) == ("ITQ", 24, 64, 300)
    assert model["columns"] == [f"kar{j}" for j in range(64)]
    assert model["objective"] == thpi.load(shop / "shop.thpi").objective_.tolist()
    index = _facts(shop / "shop.index", capsys)
    assert (index["codes"], index["bits"], index["ids"], index["search"]) == (300, 24, "string", "exact")
    codes = _facts(shop / "codes.npy", capsys)
    assert (codes["rows"], codes["bits"], codes["format"]) == (300, 24, "npy")


@pytest.mark.parametrize("name", ["shop.thpi", "shop.index", "codes.npy"])
def test_it_can_be_read(shop, capsys, name):
    assert run(["info", str(shop / name)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert name in lines[0]
    assert any(line.split() == ["bits", "24"] for line in lines)


def test_damaged_and_foreign_files_are_one_line(shop, tmp_path, refused):
    for name, message in (("shop.thpi", "not a usable thpi model"), ("shop.index", "not a usable thpi index")):
        data = bytearray((shop / name).read_bytes())
        data[-5] ^= 1
        (tmp_path / name).write_bytes(data)
        assert message in refused(["info", tmp_path / name])
    assert "is not a thpi model, a thpi index, or codes" in refused(["info", shop / "shop.csv"])
    assert "is a folder" in refused(["info", tmp_path])
    assert "does not exist" in refused(["info", tmp_path / "no"])


def test_drift(shop, tmp_path, capsys, refused):
    new = load_digits_views(target="kar", source="fou")
    rows = np.random.RandomState(0).permutation(new.n)[300:]  # those that are not in the shop
    np.save(tmp_path / "new.npy", new.target[rows])
    np.save(tmp_path / "sevens.npy", new.target[rows][new.labels[rows] == 7])
    for name, drifted in (("new.npy", False), ("sevens.npy", True)):
        assert run(["info", str(shop / "shop.thpi"), "--drift", str(tmp_path / name), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["drifted"] is drifted
        assert found["measured_rows"] == 300
        assert len(found["share_change"]) == len(found["shift"]) == 24
    assert run(["info", str(shop / "shop.thpi"), "--drift", str(shop / "shop.csv")]) == 0  # columns by name
    assert "no clear difference (p = 1)" in capsys.readouterr().out
    assert "a model is needed here" in refused(["info", shop / "shop.index", "--drift", tmp_path / "new.npy"])
    assert "--drift='gone.npy' does not exist" in refused(["info", shop / "shop.thpi", "--drift", "gone.npy"])
