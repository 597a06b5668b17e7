"""A two-sided model from the command line: build, info, add --side, search, export."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import thpi
from thpi.cli import run


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    rng = np.random.RandomState(0)
    S = rng.standard_normal((160, 6))
    X = S @ rng.standard_normal((6, 9)) + 0.1 * rng.standard_normal((160, 9))
    for name, view in (("pictures", X), ("texts", S)):
        table = pd.DataFrame(view, columns=[f"{name[0]}{i}" for i in range(view.shape[1])])
        table.insert(0, "sku", [f"A-{i:03}" for i in range(160)])
        table.to_csv(folder / f"{name}.csv", index=False)
    arguments = ["build", str(folder / "m.thpi"), str(folder / "pictures.csv"), "--privileged"]
    options = ["--id", "sku", "--bits", "8", "--relevance", "source", "--set", "sides=two"]
    assert run([*arguments, str(folder / "texts.csv"), *options]) == 0
    return folder, X, S


def test_items_by_texts_queries_by_pictures(tables, tmp_path, capsys):
    folder, X, S = tables
    with thpi.open(folder / "m.thpi") as made:
        np.testing.assert_array_equal(made.codes_of(made.ids), made.hasher.transform_source(S))
        expected = made.search(X, 3)
    capsys.readouterr()
    assert (
        run(["search", str(folder / "m.thpi"), str(folder / "pictures.csv"), "--id", "sku", "-k", "3", "--json"]) == 0
    )
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[each["id"] for each in answer["neighbours"]] for answer in found] == expected.ids.tolist()


def test_items_of_either_side_are_added(tables, tmp_path, refused):
    folder, X, S = tables
    path = shutil.copy(folder / "m.thpi", tmp_path / "m.thpi")
    for side, letter, table in (("source", "B", "texts"), ("target", "C", "pictures")):
        turned = pd.read_csv(folder / f"{table}.csv").iloc[:, ::-1]  # columns are found by name
        turned["sku"] = turned["sku"].str.replace("A-", f"{letter}-")
        turned.to_csv(tmp_path / "turned.csv", index=False)
        assert run(["add", str(path), str(tmp_path / "turned.csv"), "--id", "sku", "--side", side]) == 0
    with thpi.open(path) as made:
        assert len(made) == 480
        np.testing.assert_array_equal(made.codes_of(["B-007"]), made.hasher.transform_source(S[[7]]))
        np.testing.assert_array_equal(made.codes_of(["C-007"]), made.hasher.transform(X[[7]]))
    command = ["add", path, folder / "pictures.csv", "--side", "both"]
    assert "--side 'both' must be target or source" in refused(command)


def test_info_tells_the_sides(tables, capsys):
    folder, _, _ = tables
    assert run(["info", str(folder / "m.thpi"), "--json"]) == 0
    evidence = json.loads(capsys.readouterr().out)["evidence"]
    assert evidence["sides"] == "two"
    low, high = evidence["sides_gain_interval"]
    assert low <= evidence["sides_gain"] <= high
    assert run(["info", str(folder / "m.thpi")]) == 0
    assert "two; two sides" in capsys.readouterr().out


def test_a_one_sided_model_is_refused(shop, tmp_path, refused):
    command = ["add", shop / "collection.thpi", shop / "target.npy", "--side", "source"]
    assert "codes target rows only" in refused(command)
