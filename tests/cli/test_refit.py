from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.datasets import load_digits_views


@pytest.fixture
def grown(shop, tmp_path):
    """The table of the shop, a collection of it, and a table of further rows."""
    shutil.copy(shop / "shop.csv", tmp_path / "shop.csv")
    shutil.copy(shop / "collection.thpi", tmp_path / "shop.thpi")
    digits = load_digits_views(target="kar", source="fou")
    rows = np.random.RandomState(0).permutation(digits.n)[300:700]
    lines = ["digit,sku," + ",".join(f"kar{j}" for j in reversed(range(64)))]  # another order of the columns
    lines += [f"{digits.labels[i]},B-{i}," + ",".join(map(repr, digits.target[i][::-1].tolist())) for i in rows]
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def arguments(folder, *more):
    files = (folder / "shop.thpi", folder / "shop.csv", folder / "new.csv", "--id", "sku")
    return [str(part) for part in ("refit", *files, *more)]


def test_without_force_it_only_measures(grown, capsys):
    before = {path.name: path.read_bytes() for path in grown.iterdir()}
    assert run(arguments(grown)) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "140 queries among 560 rows; relevant: near in target space: the 10 nearest rows" in text
    assert "recall@10" in text
    assert "nothing was written" in text
    assert {path.name: path.read_bytes() for path in grown.iterdir()} == before


def test_to_measure_it_needs_no_rows_of_the_items(grown, capsys):
    assert run(["refit", str(grown / "shop.thpi"), str(grown / "new.csv"), "--id", "sku", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["written"], facts["rows"], facts["items"]) == (False, 400, 300)


def test_model_and_codes_are_replaced(grown, capsys):
    with thpi.open(grown / "shop.thpi") as shop:
        old, ids = shop.model, shop.ids.tolist()
    assert run(arguments(grown, "--force", "--json")) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["written"] is True
    assert (facts["rows"], facts["items"]) == (700, 300)
    assert 0 < facts["bits_changed"] < 1
    assert facts["gain"]["new"]["recall@10"] > facts["gain"]["old"]["recall@10"]
    with thpi.open(grown / "shop.thpi") as shop:
        assert len(shop.estimator().codes_) == 700
        assert list(shop.hasher.feature_names_in_) == [f"kar{j}" for j in range(64)]
        assert shop.ids.tolist() == ids
        assert list(shop.about["tables"].values()) == ["shop.csv", "new.csv"]
        assert shop.model == facts["fingerprint"] != old
        # The items are found under their names, with the new model.
        pd = pytest.importorskip("pandas")
        table = pd.read_csv(grown / "shop.csv", index_col="sku").drop(columns="digit")
        np.testing.assert_array_equal(shop.hasher.transform(table), shop.codes_of(list(table.index)))
    assert sorted(path.name for path in grown.iterdir()) == ["new.csv", "shop.csv", "shop.thpi"]


def test_what_does_not_fit_is_refused_before_the_work(grown, refused):
    shop, data = grown / "shop.thpi", grown / "shop.csv"
    before = shop.read_bytes()
    assert "name the old rows and the new ones" in refused(["refit", shop])
    assert "300 items of the collection: A-000, A-001, A-002" in refused(
        ["refit", shop, grown / "new.csv", "--id", "sku", "--force"]
    )
    assert "no row for 300 items" in refused(["refit", shop, data, "--force"])  # by position: 0, 1, ...
    assert "'A-000' occurs more than once" in refused(["refit", shop, data, data, "--id", "sku"])
    assert "has no column 'size'" in refused(["refit", shop, data, "--id", "size"])
    assert "there is no column 'size'" in refused(["refit", shop, data, "--ignore", "size"])
    np.save(grown / "narrow.npy", np.zeros((30, 2)))
    assert "has 2 columns of features; the model was fitted on 64" in refused(["refit", shop, grown / "narrow.npy"])
    assert "does not exist" in refused(["refit", grown / "gone.thpi", data])
    assert shop.read_bytes() == before


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
    build = {"privileged": S, "ids": [f"item-{i}" for i in range(120)]}
    thpi.build(tmp_path / "m.thpi", X, **build, hasher=thpi.ITQPlus(n_bits=4, random_state=0)).close()
    found = []
    for source in (ordered, shuffled):
        shutil.copy(tmp_path / "m.thpi", tmp_path / "copy.thpi")
        assert run(["refit", str(tmp_path / "copy.thpi"), data, "--privileged", source, "--force"]) == 0
        with thpi.open(tmp_path / "copy.thpi") as shop:
            found.append(shop.model)
            np.testing.assert_array_equal(shop.index.codes, shop.hasher.transform(X))
    assert found[0] == found[1]
    # An item without a source row is learned from without one, and coded like the others.
    assert run(["refit", str(tmp_path / "copy.thpi"), data, "--privileged", short, "--force", "--json"]) == 0
    with thpi.open(tmp_path / "copy.thpi") as shop:
        assert shop.model != found[0]
        np.testing.assert_array_equal(shop.index.codes, shop.hasher.transform(X))
    capsys.readouterr()
    assert run(["refit", str(tmp_path / "m.thpi"), data]) == 2
    assert "ITQPlus learns from pairs; name the source rows" in capsys.readouterr().err
