"""A two-sided model from the command line: fit, info, encode --side, one index for both, search, export."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import thpi
from thpi.cli import run
from thpi.export import encode_parts, read_npy, read_parts
from thpi.index import HammingIndex


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
    arguments = ["fit", str(folder / "pictures.csv"), str(folder / "m.thpi"), "--privileged", str(folder / "texts.csv")]
    options = ["--id", "sku", "--bits", "8", "--set", "relevance=source", "--set", "sides=two"]
    assert run([*arguments, *options]) == 0
    return folder, X, S


def test_items_by_texts_queries_by_pictures(tables, tmp_path, capsys):
    folder, X, S = tables
    model = thpi.load(folder / "m.thpi")
    assert model.item_names_ == [f"t{i}" for i in range(6)]
    turned = pd.read_csv(folder / "texts.csv").iloc[:, ::-1]
    turned.to_csv(tmp_path / "turned.csv", index=False)  # columns are found by name
    encode = ["encode", str(folder / "m.thpi"), str(tmp_path / "turned.csv"), str(tmp_path / "items.npy")]
    assert run([*encode, "--id", "sku", "--side", "source"]) == 0
    codes = read_npy(tmp_path / "items.npy")
    np.testing.assert_array_equal(codes.codes, model.transform_source(S))
    assert codes.model == model.fingerprint_
    assert run(["index", "build", str(tmp_path / "items.npy"), str(tmp_path / "shop.index")]) == 0
    capsys.readouterr()
    search = ["search", str(tmp_path / "shop.index"), str(folder / "pictures.csv"), "--model", str(folder / "m.thpi")]
    assert run([*search, "--id", "sku", "-k", "3", "--include-self", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    items = HammingIndex.open(tmp_path / "shop.index")
    rows = pd.DataFrame(X, columns=model.feature_names_in_)
    expected = items.search(model.decision_function(rows), 3)
    assert [[each["id"] for each in answer["neighbours"]] for answer in found] == expected[1].tolist()


def test_evaluate_codes_the_database_by_its_source(tables, capsys):
    folder, _, _ = tables
    command = ["evaluate", str(folder / "m.thpi"), str(folder / "pictures.csv"), "--id", "sku", "--json"]
    assert run([*command, "--privileged", str(folder / "texts.csv")]) == 0
    sided = json.loads(capsys.readouterr().out)
    model = thpi.load(folder / "m.thpi")
    one = {name: value for name, value in vars(model).items() if not name.startswith("item_")}
    vars(model).clear()
    vars(model).update(one)  # the same queries, and items coded by their pictures
    model.save(folder / "one.thpi")
    command[1] = str(folder / "one.thpi")
    assert run([*command, "--privileged", str(folder / "texts.csv")]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert sided["lines"]["exact"] == alone["lines"]["exact"]
    assert sided["lines"]["asymmetric"] != alone["lines"]["asymmetric"]


def test_items_without_texts_join_the_same_index(tables, tmp_path):
    folder, _, _ = tables
    for side, table, name in (("source", "texts", "a"), ("target", "pictures", "b")):
        output = str(tmp_path / f"{name}.npy")
        assert run(["encode", str(folder / "m.thpi"), str(folder / f"{table}.csv"), output, "--side", side]) == 0
    assert run(["index", "build", str(tmp_path / "a.npy"), str(tmp_path / "shop.index")]) == 0
    assert run(["index", "add", str(tmp_path / "shop.index"), str(tmp_path / "b.npy"), "--renumber"]) == 0


def test_info_tells_the_sides(tables, capsys):
    folder, _, _ = tables
    assert run(["info", str(folder / "m.thpi"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["sides"], facts["source_features"]) == ("two", 6)
    low, high = facts["sides_gain_interval"]
    assert low <= facts["sides_gain"] <= high
    assert run(["info", str(folder / "m.thpi")]) == 0
    assert "two; two sides" in capsys.readouterr().out


def test_each_side_is_an_onnx_file(tables, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    folder, X, S = tables
    model = thpi.load(folder / "m.thpi")
    del model.feature_names_in_, model.item_names_  # plain arrays have no names
    for side, rows, codes in (("target", X, model.transform(X)), ("source", S, model.transform_source(S))):
        target = tmp_path / f"{side}.onnx"
        assert run(["export", str(folder / "m.thpi"), str(target), "--side", side]) == 0
        session = runtime.InferenceSession(target.read_bytes())
        assert (session.run(["codes"], {"rows": rows.astype(np.float32)})[0] == codes).mean() > 0.99


def test_a_folder_of_codes_is_of_one_side(tmp_path):
    pytest.importorskip("pyarrow")
    S = np.random.RandomState(0).standard_normal((50, 4))
    model = thpi.TwoSidedITQ(4, random_state=0).fit(S[:, ::-1], privileged=S)
    (tmp_path / "rows").mkdir()
    pd.DataFrame(S, columns=list("abcd")).to_parquet(tmp_path / "rows" / "0.parquet")
    encode_parts(model.source_side, tmp_path / "rows", tmp_path / "codes")
    np.testing.assert_array_equal(read_parts(tmp_path / "codes").codes, model.transform_source(S))
    with pytest.raises(ValueError, match="holds codes of the other side"):
        encode_parts(model, tmp_path / "rows", tmp_path / "codes")


def test_a_one_sided_model_is_refused(shop, tmp_path, refused):
    command = ["encode", str(shop / "shop.thpi"), str(shop / "target.npy"), str(tmp_path / "c.npy"), "--side", "source"]
    assert "codes target rows only" in refused(command)
    assert "--side 'both' must be target or source" in refused([*command[:-1], "both"])


def test_refit_refuses_two_sides(tables, refused):
    folder, _, _ = tables
    command = ["refit", str(folder / "m.thpi"), "--data", str(folder / "pictures.csv"), "--id", "sku"]
    assert "two-sided" in refused([*command, "--privileged", str(folder / "texts.csv")])
