from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.datasets import load_digits_views
from thpi.export import read_npy
from thpi.index import HammingIndex


@pytest.fixture
def grown(shop, tmp_path):
    """A copy of the shop's files, and a table of further rows."""
    for name in ("shop.csv", "shop.thpi", "shop.index", "codes.npy"):
        shutil.copy(shop / name, tmp_path / name)
    digits = load_digits_views(target="kar", source="fou")
    rows = np.random.RandomState(0).permutation(digits.n)[300:700]
    lines = ["digit,sku," + ",".join(f"kar{j}" for j in reversed(range(64)))]  # another order of the columns
    lines += [f"{digits.labels[i]},B-{i}," + ",".join(map(repr, digits.target[i][::-1].tolist())) for i in rows]
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def arguments(folder, *more):
    files = (
        "--data",
        folder / "shop.csv",
        "--data",
        folder / "new.csv",
        "--id",
        "sku",
        "--index",
        folder / "shop.index",
    )
    return [str(part) for part in ("refit", folder / "shop.thpi", *files, *more)]


def test_without_force_it_only_measures(grown, capsys):
    before = {path.name: path.read_bytes() for path in grown.iterdir()}
    assert run(arguments(grown)) == 0
    text = capsys.readouterr().out
    assert "140 queries among 560 rows; relevant: the 10 nearest rows" in text
    assert "recall@10" in text
    assert "nothing was written" in text
    assert {path.name: path.read_bytes() for path in grown.iterdir()} == before


def test_model_and_index_are_replaced(grown, capsys):
    old = HammingIndex.open(grown / "shop.index")
    assert run(arguments(grown, "--force", "--json")) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["written"] is True
    assert facts["rows"] == 700
    assert 0 < facts["bits_changed"] < 1
    assert facts["gain"]["new"]["recall@10"] > facts["gain"]["old"]["recall@10"]
    model, index = thpi.load(grown / "shop.thpi"), HammingIndex.open(grown / "shop.index")
    assert len(model.codes_) == 700
    assert list(model.feature_names_in_) == [f"kar{j}" for j in range(64)]
    assert index.ids.tolist() == old.ids.tolist()
    assert index.model == model.fingerprint_ != old.model
    # The items are found under their names, with the new model.
    assert run(["search", str(grown / "shop.index"), str(grown / "shop.csv"), "--model", str(grown / "shop.thpi")]) == 0
    capsys.readouterr()
    assert run(["encode", str(grown / "shop.thpi"), str(grown / "shop.csv"), str(grown / "again.npy")]) == 0
    capsys.readouterr()
    np.testing.assert_array_equal(read_npy(grown / "again.npy").codes, index.codes)
    assert sorted(path.name for path in grown.iterdir() if path.name.startswith(".")) == []


def test_what_does_not_fit_is_refused_before_the_work(grown, refused):
    shop, data = grown / "shop.thpi", grown / "shop.csv"
    before = (grown / "shop.index").read_bytes()
    assert "name the old rows and the new ones" in refused(["refit", shop])
    new = ["refit", shop, "--data", grown / "new.csv", "--id", "sku", "--index", grown / "shop.index", "--force"]
    assert "300 items without a row in --data: A-000, A-001, A-002" in refused(new)
    plain = ["refit", shop, "--data", data, "--index", grown / "shop.index", "--force"]
    assert "--id names the column of ids" in refused(plain)
    twice = ["refit", shop, "--data", data, "--data", data, "--id", "sku", "--index", grown / "shop.index"]
    assert "'A-000' occurs more than once" in refused(twice)
    assert "has no column 'size'" in refused(["refit", shop, "--data", data, "--id", "size"])
    assert (grown / "shop.index").read_bytes() == before


def test_an_interrupted_replacement_is_recognised_and_finished(grown, refused, capsys):
    shop = grown / "shop.thpi"
    new = thpi.ITQ(n_bits=24, random_state=1).fit(np.random.RandomState(0).standard_normal((100, 64)))
    new.save(grown / ".shop.thpi.new")
    (grown / "shop.thpi.refit").write_text(json.dumps(["shop.thpi", "shop.index"]))
    asked = ["search", grown / "shop.index", grown / "shop.csv", "--model", shop]
    assert f"thpi refit {shop} --finish completes it" in refused(asked)
    assert "--finish completes it" in refused(arguments(grown))
    assert run(["refit", str(shop), "--finish", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["finished"] is True
    np.testing.assert_array_equal(thpi.load(shop).projection_, new.projection_)
    assert run(["refit", str(shop), "--finish", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["finished"] is False


def test_source_rows_are_matched_by_id(tmp_path, capsys):
    rng = np.random.RandomState(0)
    S = rng.standard_normal((120, 6))
    X = S @ rng.standard_normal((6, 8)) + 0.1 * rng.standard_normal((120, 8))

    def table(name, rows, order):
        lines = ["id," + ",".join(f"{name}{j}" for j in range(rows.shape[1]))]
        lines += [f"item-{i}," + ",".join(map(repr, rows[i].tolist())) for i in order]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    data, ordered = table("x", X, range(120)), table("s", S, range(120))
    shuffled, short = table("t", S, rng.permutation(120)), table("u", S, range(119))
    model = str(tmp_path / "m.thpi")
    assert run(["fit", data, model, "--privileged", ordered, "--method", "ITQPlus", "--bits", "4"]) == 0
    found = []
    for source in (ordered, shuffled):
        copy = str(tmp_path / "copy.thpi")
        shutil.copy(model, copy)
        assert run(["refit", copy, "--data", data, "--privileged", source, "--force"]) == 0
        found.append(thpi.load(copy).fingerprint_)
    assert found[0] == found[1]
    capsys.readouterr()
    assert run(["refit", model, "--data", data, "--privileged", short]) == 2
    assert "no row for 1 ids of --data, the first is 'item-119'" in capsys.readouterr().err
