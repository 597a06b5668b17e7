from __future__ import annotations

import json

import numpy as np
import pytest

import thpi
from thpi.cli import run


def _build(path, *words):
    return run(["build", str(path), *map(str, words)])


def _made(path):
    with thpi.open(path) as shop:
        return shop.estimator()


def test_the_collection_is_that_of_the_library(shop, tmp_path, capsys):
    path, views = tmp_path / "m.thpi", shop / "views.npz"
    words = [f"{views}:target", "--privileged", f"{views}:same", "--source", f"{views}:more", "--method", "LapITQPlus"]
    words += ["--bits", 16, "--set", "lambda1=0.2", "--set", "graph_scope=all", "--seed", 3, "--json"]
    assert _build(path, *words) == 0
    facts = json.loads(capsys.readouterr().out)
    with np.load(views) as arrays:
        expected = thpi.LapITQPlus(n_bits=16, lambda1=0.2, graph_scope="all", random_state=3).fit(
            arrays["target"], privileged=arrays["same"], source=arrays["more"]
        )
        codes = expected.transform(arrays["target"])
    with thpi.open(path) as made:
        np.testing.assert_array_equal(made.codes_of(range(300)), codes)
        assert made.ids.tolist() == list(range(300))
        assert made.model == facts["fingerprint"] == expected.fingerprint_
        assert made.about["tables"] == {"data": "views.npz:target", "privileged": "views.npz:same",
                                        "source": "views.npz:more"}  # fmt: skip
        assert made.about["settings"]["lambda1"] == 0.2
        assert made.about["settings"]["random_state"] == 3
        assert made.about["thpi"] == thpi.__version__
    assert (facts["items"], facts["bits"], facts["evidence"]["method"]) == (300, 16, "LapITQPlus")


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
    assert _build(tmp_path / "m", f"{shop}/target.npy", "--bits", 8, "--json", *options) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["method"] == method == type(_made(tmp_path / "m")).__name__
    assert facts["settings"].get("relevance") == relevance
    assert facts["evidence"]["converged"] in (True, False)


@pytest.mark.slow
def test_relevance_may_be_said_and_labels_that_are_not_used_are_told(shop, tmp_path, capsys):
    words = [f"{shop}/target.npy", "--bits", 8, "--labels", f"{shop}/labels.txt", "--force"]
    pairs = ["--privileged", f"{shop}/views.npz:same", "--relevance", "source"]
    assert _build(tmp_path / "m", *words, *pairs) == 0
    assert _made(tmp_path / "m").relevance == "source"
    assert "--labels is not used: AutoHasher" in capsys.readouterr().err
    assert _build(tmp_path / "m", *words, "--method", "ITQ") == 0
    assert "--labels is not used: ITQ learns from target rows only" in capsys.readouterr().err
    assert _build(tmp_path / "m", *words, "--method", "ClassITQ") == 0
    assert "not used" not in capsys.readouterr().err


def test_formats_give_the_same_collection(shop, tmp_path):
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    pq.write_table(pc.read_csv(shop / "shop.csv"), tmp_path / "shop.parquet")
    (tmp_path / "names.txt").write_text("\n".join(f"A-{i:03d}" for i in range(300)))
    ignore, named = ["--ignore", "digit", "--id", "sku"], ["--id", tmp_path / "names.txt"]
    found = []
    for i, (data, more) in enumerate(
        [("target.npy", named), ("views.npz:target", named), ("shop.csv", ignore), (tmp_path / "shop.parquet", ignore)]
    ):
        assert _build(tmp_path / f"{i}", shop / data, "--bits", 8, *more) == 0
        with thpi.open(tmp_path / f"{i}") as made:
            found.append((made.model, made.version))
    assert len(set(found)) == 1
    assert _made(tmp_path / "2").feature_names_in_[0] == "kar0"


def test_methods_lists_the_registry(capsys):
    assert run(["build", "--methods"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in thpi.HASHERS)
    assert "lambda2" in out


def test_what_a_method_does_not_use_is_told(shop, tmp_path, capsys):
    words = [f"{shop}/target.npy", "--method", "LSH", "--privileged", f"{shop}/views.npz:same"]
    assert _build(tmp_path / "m", *words) == 0
    assert "--privileged is not used" in capsys.readouterr().err


def test_an_existing_collection_stays_unless_forced(shop, tmp_path, refused):
    path = tmp_path / "m.thpi"
    path.write_text("mine")
    assert "--force" in refused(["build", path, shop / "target.npy"])
    assert path.read_text() == "mine"
    assert _build(path, shop / "target.npy", "--force", "--title", "A shop") == 0
    with thpi.open(path) as made:
        assert (made.n_bits, made.about["title"]) == (32, "A shop")


def test_bad_input_is_one_line_that_names_it(shop, tmp_path, refused):
    target, views, out = shop / "target.npy", shop / "views.npz", tmp_path / "m"

    def said(*words):
        return refused(["build", out, *words])

    assert "'ITQ3' must be one of LSH," in said(target, "--method", "ITQ3")
    assert "needs --privileged" in said(target, "--method", "ITQPlus")
    unknown = said(target, "--set", "tolerance=1")
    assert "'tolerance=1' must be NAME=VALUE with a parameter of ITQ: balanced, max_iter," in unknown
    assert "AutoHasher" not in unknown
    assert said(target, "--set", "sides=two").endswith("AutoHasher, the default with --privileged or --labels, has it.")
    assert "an option of its own, --relevance groups" in said(target, "--set", "relevance=groups")
    assert "--relevance groups needs --privileged" in said(target, "--relevance", "groups")
    assert "--relevance labels needs --labels" in said(target, "--relevance", "labels")
    assert "ITQPlus has one meaning only" in said(
        target, "--relevance", "source", "--privileged", target, "--method", "ITQPlus"
    )
    assert "'loud' must be one of target, source, labels, groups" in said(target, "--relevance", "loud")
    assert "max_iter" in said(target, "--set", "max_iter=0")
    assert "has 600 rows and DATA 300" in said(target, "--privileged", f"{views}:more")
    assert "n_bits=65 is more than" in said(target, "--bits", "65")
    assert "choose one: " in said(views)
    assert "no array 'tagret', only target, same, more" in said(f"{views}:tagret")
    hint = "line 2, column sku: 'A-000' is not a finite number (--id sku if it names the items, --ignore sku"
    assert hint in said(shop / "shop.csv")
    assert "10 ids occur more than once: '2', '5', '3' and 7 more." in said(
        shop / "shop.csv", "--id", "digit", "--ignore", "sku"
    )
    assert "no column 'color', only sku, digit" in said(shop / "shop.csv", "--id", "sku", "--ignore", "color")
    assert "--feature 'color': there is no column" in said(
        shop / "shop.csv", "--id", "sku", "--ignore", "digit", "--feature", "color"
    )
    assert "--labels 'kind' is neither a file nor a column of DATA" in said(target, "--labels", "kind")
    assert "does not exist" in said(tmp_path / "no.npy")
    assert "must be a .npy," in said(shop / "labels.txt")
    assert "the folder" in refused(["build", tmp_path / "no" / "m", target])
    assert "is also an input of this command" in refused(["build", target, target, "--force"])
    privileged = ["--privileged", f"{views}:same"]
    assert "is also an input of this command" in refused(["build", views, target, "--force", *privileged])
    (tmp_path / "few.txt").write_text("1\n2\n")
    assert "has 2 labels; DATA has 300 rows" in said(target, "--labels", tmp_path / "few.txt")
    assert "has 2 ids; DATA has 300 rows" in said(target, "--id", tmp_path / "few.txt")
    assert "--recall 2 must be" in said(target, "--recall", "2")
    assert [path.name for path in tmp_path.iterdir()] == ["few.txt"]


def test_numbers_that_look_like_ids_are_no_features_without_a_word(tmp_path, refused):
    rng = np.random.RandomState(0)
    rows = "\n".join(f"{7000 + i},{x:.3f},{y:.3f}" for i, (x, y) in enumerate(rng.standard_normal((30, 2))))
    (tmp_path / "x.csv").write_text(f"EAN,x,y\n{rows}\n")
    text = refused(["build", tmp_path / "m", tmp_path / "x.csv", "--bits", 2])
    assert "column EAN looks like ids" in text
    for words, ids, columns in (
        (["--id", "EAN"], 7000, ["x", "y"]),
        (["--ignore", "EAN"], 0, ["x", "y"]),
        (["--feature", "EAN"], 0, ["EAN", "x", "y"]),
    ):
        assert words[0] in text
        assert _build(tmp_path / "m", tmp_path / "x.csv", "--bits", 2, "--force", *words) == 0
        with thpi.open(tmp_path / "m") as made:
            assert made.ids[0] == ids
            assert made.hasher.feature_names_in_.tolist() == columns


def test_labels_reach_the_methods_that_use_them_and_the_choice_is_told(shop, tmp_path, capsys):
    views, path = f"{shop / 'views.npz'}:", tmp_path / "m.thpi"
    words = [views + "target", "--bits", 8, "--privileged", views + "same", "--set", "max_pairs=100"]
    assert _build(path, *words, "--labels", shop / "labels.txt", "--html", tmp_path / "page.html") == 0
    made = _made(path)
    assert made.candidates_[0]["score"] > 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"method AutoHasher: {made.choice_} " in out
    low, high = made.gain_interval_
    assert f"{made.gain_:+.1f} points of MAP with it (95 % interval {low:+.1f} to {high:+.1f})" in out
    assert f"The source is {'' if made.uses_source_ else 'not '}used" in out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert made.choice_ in page
    assert "<script" not in page
    assert run(["info", str(path), "--json"]) == 0
    evidence = json.loads(capsys.readouterr().out)["evidence"]
    assert (evidence["choice"], evidence["choice_params"]) == (made.choice_, made.choice_params_)
    assert evidence["uses_source"] is made.uses_source_


def test_target_rows_without_a_source_reach_the_method_and_are_items(shop, tmp_path, refused):
    views, target, path = shop / "views.npz", np.load(shop / "target.npy"), tmp_path / "m.thpi"
    with np.load(views) as arrays:
        np.savez(tmp_path / "pairs.npz", target=target[:100], same=arrays["same"][:100], rest=target[100:])
    pairs = f"{tmp_path / 'pairs.npz'}:"
    words = [pairs + "target", "--bits", 8, "--privileged", pairs + "same", "--target", pairs + "rest"]
    assert _build(path, *words, "--method", "TransferITQ") == 0
    with np.load(tmp_path / "pairs.npz") as arrays:
        expected = thpi.TransferITQ(8, random_state=0)
        expected.fit(arrays["target"], privileged=arrays["same"], target=arrays["rest"])
    with thpi.open(path) as made:
        np.testing.assert_array_equal(made.codes_of(range(300)), expected.transform(target))
    assert _build(path, *words, "--method", "ITQPlus", "--force") == 0  # learns from pairs, codes all
    with thpi.open(path) as made:
        assert len(made) == 300
    wrong = ["build", path, *words[:-1], pairs + "same", "--method", "TransferITQ", "--force"]
    assert "columns and DATA 64" in refused(wrong)


def test_columns_of_further_target_rows_are_found_by_name_and_their_ids_are_new(shop, tmp_path, refused):
    lines = (shop / "shop.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    (tmp_path / "turned.csv").write_text("\n".join(",".join(reversed(row)).replace("A-", "B-") for row in cells) + "\n")
    words = [shop / "shop.csv", "--ignore", "digit", "--id", "sku", "--bits", 8, "--method", "NeighbourHash"]
    assert _build(tmp_path / "m", *words, "--target", tmp_path / "turned.csv") == 0
    X = np.array([row[2:] for row in cells[1:]], dtype=float)
    expected = thpi.NeighbourHash(8, random_state=0).fit(X, target=X)
    with thpi.open(tmp_path / "m") as made:
        np.testing.assert_allclose(made.hasher.projection_, expected.projection_, atol=1e-9)
        assert made.ids[[0, 300]].tolist() == ["A-000", "B-000"]
        np.testing.assert_array_equal(made.codes_of(["A-007"]), made.codes_of(["B-007"]))
    again = ["build", tmp_path / "n", *words, "--target", shop / "shop.csv"]
    assert "more than once" in refused(again)
    (tmp_path / "few.csv").write_text("kar0,kar1\n1,2\n")
    assert "has no column 'kar2'" in refused([*again[:-1], tmp_path / "few.csv"])


def test_texts_and_pictures_are_of_the_items(shop, tmp_path, refused, capsys):
    lines = (shop / "shop.csv").read_text().splitlines()
    table = [lines[0] + ",words", *(f"{line},item {i}" for i, line in enumerate(lines[1:]))]
    (tmp_path / "x.csv").write_text("\n".join(table))
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "A-003.webp").write_bytes(b"RIFF....WEBP")
    words = [tmp_path / "x.csv", "--id", "sku", "--ignore", "digit", "--bits", 8, "--text", "words"]
    path = tmp_path / "m"
    assert _build(path, *words, "--pictures", tmp_path / "pictures") == 0
    with thpi.open(path) as made:
        assert made.details("A-003") == ("item 3", b"RIFF....WEBP")
        assert made.details("A-004") == ("item 4", None)
        assert made.hasher.n_features_in_ == 64
    capsys.readouterr()
    assert run(["search", str(path), "--id", "A-003", "-k", "2", "--json"]) == 0
    for hit in json.loads(capsys.readouterr().out)["neighbours"]:
        assert hit["text"] == f"item {int(hit['id'][2:])}"
    (tmp_path / "pictures" / "A-003.webp").rename(tmp_path / "pictures" / "B-003.webp")
    command = ["build", tmp_path / "n", *words, "--pictures", tmp_path / "pictures"]
    assert "has no file named after an item" in refused(command)
    (tmp_path / "pictures" / "A-003.png").write_bytes(bytes(300_000))
    assert "300,000 bytes; a thumbnail has at most" in refused(command)
    assert "must be a folder" in refused([*command[:-1], tmp_path / "x.csv"])
    assert "has no column 'story'" in refused(["build", tmp_path / "n", *words[:-1], "story"])
    more = [line.replace("A-", "C-") for line in table[:4]]
    (tmp_path / "more.csv").write_text("\n".join(more))
    assert run(["add", str(path), str(tmp_path / "more.csv"), "--id", "sku", "--text", "words"]) == 0
    with thpi.open(path) as made:
        assert made.details("C-002").text == "item 2"


def test_a_folder_of_parquet_files_is_built_with_its_ids(shop, tmp_path):
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    table = pc.read_csv(shop / "shop.csv")
    (tmp_path / "rows").mkdir()
    for part in range(3):
        pq.write_table(table.slice(100 * part, 100), tmp_path / "rows" / f"{part}.parquet")
    words = ["--id", "sku", "--ignore", "digit", "--bits", 24]
    assert _build(tmp_path / "m", tmp_path / "rows", *words) == 0
    with thpi.open(tmp_path / "m") as made, thpi.open(shop / "collection.thpi") as whole:
        assert made.ids.tolist() == whole.ids.tolist()
        differ = np.unpackbits(made.codes_of(made.ids) ^ whole.codes_of(made.ids)).mean()
        assert differ < 0.01  # summed in another order
        assert made.hasher.feature_names_in_.tolist() == whole.hasher.feature_names_in_.tolist()
