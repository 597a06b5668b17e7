from __future__ import annotations

import json
import re

import numpy as np
import pytest

import thpi
from thpi.cli import run


def test_the_model_is_that_of_the_library(shop, tmp_path, capsys):
    model = tmp_path / "m.thpi"
    views = shop / "views.npz"
    command = ["fit", f"{views}:target", str(model), "--privileged", f"{views}:same", "--source", f"{views}:more"]
    command += ["--method", "LapITQPlus"]
    assert run([*command, "--bits", "16", "--set", "lambda1=0.2", "--set", "graph_scope=all", "--seed", "3"]) == 0
    with np.load(views) as arrays:
        expected = thpi.LapITQPlus(n_bits=16, lambda1=0.2, graph_scope="all", random_state=3).fit(
            arrays["target"], privileged=arrays["same"], source=arrays["more"]
        )
        np.testing.assert_array_equal(
            thpi.load(model).transform(arrays["target"]), expected.transform(arrays["target"])
        )
    out = capsys.readouterr().out
    assert f"-> {expected.objective_[-1]:.6g} in {expected.n_iter_} iterations" in out
    assert "█" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "method", "relevance"),
    [
        ([], "ITQ", None),
        (["--privileged"], "AutoHasher", "target"),
        (["--privileged", "--source"], "AutoHasher", "target"),
        (["--privileged", "--labels"], "AutoHasher", "labels"),
        (["--labels"], "AutoHasher", "labels"),
    ],
)
def test_the_method_follows_from_what_is_given(shop, tmp_path, capsys, given, method, relevance):
    files = {"--privileged": "views.npz:same", "--source": "views.npz:more", "--labels": "labels.txt"}
    options = [part for name in given for part in (name, f"{shop}/{files[name]}")]
    assert run(["fit", f"{shop}/target.npy", str(tmp_path / "m"), "--bits", "8", "--json", *options]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["method"] == method == type(thpi.load(tmp_path / "m")).__name__
    assert facts["iterations"] == len(facts["objective"])
    assert (facts["parameters"] or {}).get("relevance") == relevance
    if method == "ITQ":
        assert facts["objective"][-1] < facts["objective"][0]


@pytest.mark.slow
def test_relevance_may_be_said_and_labels_that_are_not_used_are_told(shop, tmp_path, capsys):
    command = ["fit", f"{shop}/target.npy", str(tmp_path / "m"), "--bits", "8", "--labels", f"{shop}/labels.txt"]
    pairs = ["--privileged", f"{shop}/views.npz:same", "--set", "relevance=source"]
    assert run([*command, *pairs]) == 0
    assert thpi.load(tmp_path / "m").relevance == "source"
    assert "--labels is not used: AutoHasher" in capsys.readouterr().err
    assert run([*command, "--force", "--method", "ITQ"]) == 0
    assert "--labels is not used: ITQ learns from target rows only" in capsys.readouterr().err
    assert run([*command, "--force", "--method", "ClassITQ"]) == 0
    assert "not used" not in capsys.readouterr().err


def test_formats_give_the_same_model(shop, tmp_path):
    pq, pc = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.csv")
    pq.write_table(pc.read_csv(shop / "shop.csv"), tmp_path / "shop.parquet")
    ignore = ["--ignore", "sku", "--ignore", "digit"]
    projections = []
    for i, (data, more) in enumerate(
        [("target.npy", []), ("views.npz:target", []), ("shop.csv", ignore), (tmp_path / "shop.parquet", ignore)]
    ):
        assert run(["fit", str(shop / data), str(tmp_path / f"{i}"), "--bits", "8", *more]) == 0
        projections.append(thpi.load(tmp_path / f"{i}").projection_)
    for other in projections[1:]:
        np.testing.assert_array_equal(other, projections[0])
    assert thpi.load(tmp_path / "2").feature_names_in_[0] == "kar0"


def test_methods_lists_the_registry(capsys):
    assert run(["fit", "--methods"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in thpi.HASHERS)
    assert "lambda2" in out


def test_what_a_method_does_not_use_is_told(shop, tmp_path, capsys):
    command = ["fit", f"{shop}/target.npy", str(tmp_path / "m"), "--method", "LSH"]
    assert run([*command, "--privileged", f"{shop}/views.npz:same"]) == 0
    assert "--privileged is not used" in capsys.readouterr().err


def test_an_existing_model_stays_unless_forced(shop, tmp_path, refused):
    model = tmp_path / "m.thpi"
    model.write_text("mine")
    assert "--force" in refused(["fit", shop / "target.npy", model])
    assert model.read_text() == "mine"
    assert run(["fit", f"{shop}/target.npy", str(model), "--force"]) == 0
    assert thpi.load(model).n_bits == 32


def test_bad_input_is_one_line_that_names_it(shop, tmp_path, refused):
    target, views, out = shop / "target.npy", shop / "views.npz", tmp_path / "m"
    assert "'ITQ3' must be one of LSH," in refused(["fit", target, out, "--method", "ITQ3"])
    assert "needs --privileged" in refused(["fit", target, out, "--method", "ITQPlus"])
    assert "'tolerance' must be NAME=VALUE; ITQ has balanced," in refused(["fit", target, out, "--set", "tolerance"])
    unknown = refused(["fit", target, out, "--set", "tolerance=1"])
    assert "ITQ has no parameter 'tolerance', only balanced, max_iter," in unknown
    assert "AutoHasher" not in unknown
    message = refused(["fit", target, out, "--set", "relevance=groups"])
    assert message.endswith("AutoHasher, the default with --privileged or --labels, has it."), message
    assert "max_iter" in refused(["fit", target, out, "--set", "max_iter=0"])
    assert "has 600 rows and DATA 300" in refused(["fit", target, out, "--privileged", f"{views}:more"])
    assert "n_bits=65 is more than" in refused(["fit", target, out, "--bits", "65"])
    assert "choose one: " in refused(["fit", views, out])
    assert "no array 'tagret', only target, same, more" in refused(["fit", f"{views}:tagret", out])
    assert (
        "line 2, column sku: 'A-000' is not a finite number (--id sku if it names the items, --ignore sku"
        in refused(["fit", shop / "shop.csv", out])
    )
    assert "no column 'color', only sku, digit" in refused(
        ["fit", shop / "shop.csv", out, "--id", "sku", "--ignore", "color"]
    )
    assert "--labels 'kind' is neither a file nor a column of DATA" in refused(["fit", target, out, "--labels", "kind"])
    assert "does not exist" in refused(["fit", tmp_path / "no.npy", out])
    assert "must be a .npy," in refused(["fit", shop / "labels.txt", out])
    assert "the folder" in refused(["fit", target, tmp_path / "no" / "m"])
    assert "is also an input of this command" in refused(["fit", target, target, "--force"])
    privileged = ["--privileged", f"{views}:same"]
    assert "is also an input of this command" in refused(["fit", target, views, "--force", *privileged])
    assert list(tmp_path.iterdir()) == []


def test_labels_reach_the_methods_that_use_them_and_the_choice_is_told(shop, tmp_path, refused, capsys):
    views, labels = f"{shop / 'views.npz'}:", str(shop / "labels.txt")
    arguments = ["fit", views + "target", tmp_path / "m.thpi", "--bits", 8, "--privileged", views + "same"]
    chosen = [*arguments, "--set", "max_pairs=100"]
    assert "needs y" in refused([*chosen, "--set", "relevance=labels"])
    assert run([str(argument) for argument in [*chosen, "--labels", labels]]) == 0
    made = thpi.load(tmp_path / "m.thpi")
    assert made.candidates_[0]["score"] > 0
    out = capsys.readouterr().out
    assert re.search(rf"^ *chosen +{re.escape(made.choice_)}$", out, re.MULTILINE)
    assert re.search(rf"^ *source +{re.escape(f'{made.gain_:+.1f}')} \(", out, re.MULTILINE)
    assert run(["info", str(tmp_path / "m.thpi"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["choice"], facts["choice_params"]) == (made.choice_, made.choice_params_)
    assert facts["uses_source"] is made.uses_source_
    assert facts["gain_interval"][0] <= facts["gain"] <= facts["gain_interval"][1]
    (tmp_path / "few.txt").write_text("1\n2\n")
    assert "has 2 labels; DATA has 300 rows" in refused([*arguments, "--force", "--labels", tmp_path / "few.txt"])


def test_target_rows_without_a_source_reach_the_method(shop, tmp_path, refused):
    views, target = shop / "views.npz", np.load(shop / "target.npy")
    with np.load(views) as arrays:
        np.savez(tmp_path / "pairs.npz", target=target[:100], same=arrays["same"][:100], rest=target[100:])
    pairs, model = f"{tmp_path / 'pairs.npz'}:", tmp_path / "m.thpi"
    command = ["fit", pairs + "target", model, "--bits", 8, "--privileged", pairs + "same", "--target", pairs + "rest"]
    assert run([str(word) for word in [*command, "--method", "TransferITQ"]]) == 0
    with np.load(tmp_path / "pairs.npz") as arrays:
        expected = thpi.TransferITQ(8, random_state=0)
        expected.fit(arrays["target"], privileged=arrays["same"], target=arrays["rest"])
    np.testing.assert_array_equal(thpi.load(model).projection_, expected.projection_)
    assert "ITQPlus does not take --target; TransferITQ," in refused([*command, "--method", "ITQPlus", "--force"])
    target = shop / "target.npy"
    assert "can be part of DATA" in refused(["fit", target, tmp_path / "n", "--target", target])
    wrong = [*command[:-1], pairs + "same", "--method", "TransferITQ", "--force"]
    assert "columns and DATA 64" in refused(wrong)


def test_columns_of_further_target_rows_are_found_by_name(shop, tmp_path, refused):
    lines = (shop / "shop.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    (tmp_path / "turned.csv").write_text("\n".join(",".join(reversed(row)) for row in cells) + "\n")
    command = ["fit", shop / "shop.csv", tmp_path / "m", "--ignore", "sku", "--ignore", "digit", "--bits", 8]
    given = [*command, "--method", "NeighbourHash", "--target", tmp_path / "turned.csv"]
    assert run([str(word) for word in given]) == 0
    X = np.array([row[2:] for row in cells[1:]], dtype=float)
    expected = thpi.NeighbourHash(8, random_state=0).fit(X, target=X)
    np.testing.assert_allclose(thpi.load(tmp_path / "m").projection_, expected.projection_, atol=1e-9)
    (tmp_path / "few.csv").write_text("kar0,kar1\n1,2\n")
    assert "has no column 'kar2'" in refused([*given[:-1], tmp_path / "few.csv", "--force"])
    pq, pc = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.csv")
    (tmp_path / "folder").mkdir()
    pq.write_table(pc.read_csv(tmp_path / "turned.csv"), tmp_path / "folder" / "a.parquet")
    assert run([str(word) for word in [*given[:-1], tmp_path / "folder", "--force"]]) == 0
    np.testing.assert_allclose(thpi.load(tmp_path / "m").projection_, expected.projection_, atol=1e-9)
