from __future__ import annotations

import json
import re

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.evaluation import Judged, assess, evaluate, find_truth, query_mean


def _json(capsys):
    return json.loads(capsys.readouterr().out)


def _lines(found, measure="average_precision"):
    return {name: line["measures"][measure] for name, line in found["lines"].items()}


def _check(found, expected):
    """The JSON of the command has the numbers of the library."""
    assert list(found["lines"]) == list(expected.lines)
    for name, line in expected.lines.items():
        measured = found["lines"][name]["measures"]
        assert list(measured) == list(expected.measures)
        for measure in expected.measures:
            value = line.measured(measure)
            if value is None:
                assert measured[measure] is None
            else:
                for part, number in value._asdict().items():
                    assert measured[measure][part] == pytest.approx(number, rel=1e-9, nan_ok=True)


@pytest.fixture
def built(shop):
    """The collection of the shop, whose columns have names."""
    return shop / "collection.thpi"


@pytest.fixture
def halves(shop, built, tmp_path):
    """Fifty rows as queries and the others as database, in tables with ids; their source rows are shuffled."""
    X = np.load(shop / "target.npy")
    labels = np.loadtxt(shop / "labels.txt", dtype=int)
    with np.load(shop / "views.npz") as views:
        S = views["same"]
    head, *lines = (shop / "shop.csv").read_text().splitlines()
    for name, part in (("q", slice(50)), ("d", slice(50, None))):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *lines[part]]) + "\n")
        np.save(tmp_path / f"{name}.npy", X[part])
        np.save(tmp_path / f"{name}_source.npy", S[part])
    rows = [f"A-{i:03d}," + ",".join(map(repr, S[i].tolist())) for i in np.random.RandomState(0).permutation(300)]
    names = ",".join(["sku", *(f"fou{j}" for j in range(S.shape[1]))])
    (tmp_path / "source.csv").write_text("\n".join([names, *rows]) + "\n")
    kinds = [f"A-{i:03d},{labels[i]}" for i in range(300)]
    (tmp_path / "kinds.csv").write_text("\n".join(["sku,kind", *kinds]) + "\n")
    hasher = thpi.open(built).hasher
    rows = Judged(X, labels, S)
    return rows.take(np.arange(50)), rows.take(np.arange(50, 300)), hasher


def _command(built, folder):
    return ["evaluate", str(built), f"{folder}/d.csv", "--queries", f"{folder}/q.csv", "--id", "sku", "--json"]


@pytest.mark.parametrize("relevance", ["target", "source", "labels", "groups"])
def test_values_are_those_of_the_library(shop, built, tmp_path, capsys, halves, relevance):
    queries, database, hasher = halves
    given = {
        "source": ["--privileged", f"{tmp_path}/source.csv"],
        "labels": ["--labels", f"{tmp_path}/kinds.csv:kind"],
    }
    words = given.get("source" if relevance == "groups" else relevance, [])
    more = ["-k", "7", "-k", "3", "--measure", "ndcg@5", "--measure", "lookup_recall@2", "--precision", "0.2"]
    assert run([*_command(built, tmp_path), "--relevance", relevance, *words, *more]) == 0
    found = _json(capsys)
    truth = find_truth(relevance, queries, database)
    extra = ["ndcg@5", "lookup_recall@2"]
    expected = assess(hasher, queries.X, database.X, truth.relevant, k=[3, 7], measures=extra, precision=0.2)
    _check(found, expected)
    assert found["relevance"] == relevance
    assert found["relevant"] == truth.words
    for order, gain in expected.over_itq.items():
        assert found["over_itq"][order] == pytest.approx(gain._asdict())
    assert found["radius"]["radius"] == expected.radius.radius
    # And those of the measures themselves, from the codes.
    codes = hasher.transform(queries.X), hasher.transform(database.X)
    direct = evaluate(*codes, truth.relevant, 24, ["average_precision", "recall@7"])
    for measure, values in direct.items():
        assert _lines(found, measure)["model"]["value"] == pytest.approx(query_mean(values).value, rel=1e-12)


def test_drawn_queries_are_not_in_the_database(shop, built, tmp_path, capsys):
    X = np.load(shop / "target.npy")[:100]
    np.save(tmp_path / "x.npy", X)
    command = ["evaluate", str(built), str(tmp_path / "x.npy"), "--json"]
    assert run([*command, "--neighbours", "1", "--n-queries", "30", "--seed", "3"]) == 0
    found = _json(capsys)
    assert (found["queries"], found["database"]) == (30, 70)
    order = np.random.RandomState(3).permutation(100)
    queries, database = X[np.sort(order[:30])], X[np.sort(order[30:])]
    truth = find_truth("target", Judged(queries), Judged(database), neighbours=1)
    hasher = thpi.open(built).hasher
    _check(found, assess(hasher, queries, database, truth.relevant, random_state=3))
    assert run(command) == 0  # by default at most a fifth of the rows are queries
    assert _json(capsys)["queries"] == 20


def test_a_column_of_labels_and_a_file_of_labels_are_alike(shop, built, capsys):
    assert run(["evaluate", str(built), str(shop / "shop.csv"), "--labels", "digit", "--json"]) == 0
    first = _json(capsys)["lines"]
    command = ["evaluate", str(built), str(shop / "target.npy"), "--json"]
    assert run([*command, "--labels", str(shop / "labels.txt")]) == 0
    assert _json(capsys)["lines"] == first
    assert first["model"]["measures"]["average_precision"]["value"] > 0.2  # chance is one in ten


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Tables with ids, shuffled: 60 pictures, texts of 50 of them and of 10 others, and a model for the source."""
    folder = tmp_path_factory.mktemp("two")
    rng = np.random.RandomState(0)
    S = rng.standard_normal((70, 3))
    X = S @ rng.standard_normal((3, 6)) + rng.standard_normal((70, 6))
    pictures, texts = rng.permutation(60), rng.permutation(np.arange(10, 70))

    def write(name, columns, ids, rows):
        lines = [",".join(["id", *columns]), *(",".join([f"i{i}", *map(repr, rows[i].tolist())]) for i in ids)]
        (folder / name).write_text("\n".join(lines) + "\n")

    a, b = [f"x{j}" for j in range(6)], [f"s{j}" for j in range(3)]
    write("pictures.csv", a, pictures, X)
    write("texts.csv", b, texts, S)
    write("some.csv", a, pictures[:40], X)
    write("others.csv", a, pictures[40:], X)
    pd = pytest.importorskip("pandas")
    both = thpi.pair(pd.read_csv(folder / "pictures.csv"), pd.read_csv(folder / "texts.csv"))
    ids = {"ids": both.X.index, "target_ids": both.target.index}
    thpi.build(folder / "m.thpi", both.X, **both.views, **ids, relevance="source", bits=4).close()
    return folder, X, S, pictures


def _judged(X, S, ids):
    return Judged(X[ids], None, S[ids])


def test_a_model_is_measured_for_what_it_was_fitted_for(two, capsys):
    folder, X, S, pictures = two
    capsys.readouterr()
    command = ["evaluate", str(folder / "m.thpi"), str(folder / "pictures.csv"), "--json"]
    assert run([*command, "--privileged", str(folder / "texts.csv")]) == 0
    found = _json(capsys)
    assert (found["relevance"], found["rows_without_source"]) == ("source", 10)
    paired = pictures[pictures >= 10]
    order = np.random.RandomState(0).permutation(50)
    queries, database = (_judged(X, S, paired[np.sort(part)]) for part in (order[:10], order[10:]))
    hasher = thpi.open(folder / "m.thpi").hasher
    truth = find_truth("source", queries, database)
    _check(found, assess(hasher, queries.X, database.X, truth.relevant))
    assert run([*command, "--relevance", "target", "--privileged", str(folder / "texts.csv")]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["database"] == 48  # nothing is left out
    assert captured.err == "--privileged is not used: relevant means near in target space.\n"


def test_queries_of_a_table_of_their_own_find_their_source_by_id(two, capsys):
    folder, X, S, pictures = two
    capsys.readouterr()
    command = ["evaluate", str(folder / "m.thpi"), str(folder / "some.csv"), "--queries", str(folder / "others.csv")]
    assert run([*command, "--privileged", str(folder / "texts.csv"), "--json"]) == 0
    found = _json(capsys)
    database, queries = (_judged(X, S, part[part >= 10]) for part in (pictures[:40], pictures[40:]))
    assert (found["queries"], found["database"]) == (len(queries.X), len(database.X))
    hasher = thpi.open(folder / "m.thpi").hasher
    truth = find_truth("source", queries, database)
    _check(found, assess(hasher, queries.X, database.X, truth.relevant))


def test_what_a_relevance_needs_is_asked_for(two, shop, built, tmp_path, refused, halves):
    folder = two[0]
    command = ["evaluate", folder / "m.thpi", folder / "pictures.csv"]
    text = refused(command)
    assert "was fitted for relevance=source, which needs --privileged; --relevance target" in text
    assert "--relevance groups needs --privileged." in refused([*command, "--relevance", "groups"])
    assert "--relevance labels needs --labels." in refused([*command, "--relevance", "labels"])
    assert "'colour' must be one of target, source," in refused([*command, "--relevance", "colour"])
    twice = [*command, "--queries", folder / "some.csv", "--relevance", "target"]
    assert "40 of its ids are in DATA too (i" in refused(twice)
    assert "there is no column 'name'" in refused([*command, "--relevance", "target", "--ignore", "name"])
    arrays = ["evaluate", built, tmp_path / "d.npy", "--queries", tmp_path / "q.npy", "--relevance", "source"]
    assert "need ids, by which queries find their source rows" in refused(
        [*arrays, "--privileged", tmp_path / "d_source.npy"]
    )
    mixed = ["evaluate", built, tmp_path / "d.npy", "--privileged", tmp_path / "q_source.npy"]
    assert "has 50 rows and DATA 250" in refused([*mixed, "--relevance", "source"])
    np.save(tmp_path / "narrow.npy", np.zeros((50, 2)))
    assert "has 2 columns of features; the model was fitted on 64" in refused(
        ["evaluate", built, tmp_path / "narrow.npy"]
    )


def test_the_text_names_lines_measures_and_the_radius(shop, built, capsys):
    command = ["evaluate", str(built), str(shop / "target.npy"), "--n-queries", "20"]
    assert run([*command, "--precision", "1", "--measure", "lookup_precision@0"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "near in target space: the 9 nearest rows" in out
    for name in (
        "percent model asymm. ITQ asymm. exact random",
        "MAP",
        "precision@10",
        "recall@100",
        "±",
        " - ",
    ):
        assert name in out
    assert "fitted on the rows searched" in out
    assert "Model over ITQ, points of MAP: " in out
    assert "Radius " in out or "No radius reaches" in out


def test_a_page(shop, built, tmp_path, capsys, refused):
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    page = tmp_path / "page.html"
    command = ["evaluate", str(built), str(shop / "target.npy"), "--html", str(page)]
    assert run(command) == 0
    out = capsys.readouterr().out
    assert f"page: {page}" in out
    text = page.read_text(encoding="utf-8")
    assert "Relevant: near in target space: the 8 nearest rows" in text
    mean = re.search(r"MAP +([\d.]+)±", out)[1]
    assert f"<th>MAP</th>\n<td>{mean}<small>" in text
    assert text.count("<figure>") == 1
    assert "exists already; --force replaces it" in refused(command)
    assert run([*command, "--force", "--json"]) == 0
    assert _json(capsys)["queries"] == 60


def test_a_collection_measures_the_same_in_python(shop, built, capsys):
    X, labels = np.load(shop / "target.npy"), np.loadtxt(shop / "labels.txt", dtype=int)
    with thpi.open(built) as opened:
        expected = opened.evaluate(X, labels, n_queries=40, k=[5])
    assert (
        run(
            [
                "evaluate",
                str(built),
                str(shop / "shop.csv"),
                "--labels",
                "digit",
                "--n-queries",
                "40",
                "-k",
                "5",
                "--json",
            ]
        )
        == 0
    )
    found = _json(capsys)
    _check(found, expected)
    assert (
        (found["relevance"], found["relevant"]) == (expected.relevance, expected.relevant) == ("labels", "same label")
    )


def test_bad_input_is_one_line(shop, built, tmp_path, refused, halves):
    command = ["evaluate", built, shop / "target.npy"]
    assert "measures has 'map'; the measures are ['average_precision'," in refused([*command, "--measure", "map"])
    curve = "precision_recall_curve"
    assert f"{curve}', which is a curve" in refused([*command, "--measure", curve])
    assert "'precision'" in refused([*command, "--measure", "precision"])
    assert "n_queries=300 must be at least 1 and less" in refused([*command, "--n-queries", "300"])
    assert "neighbours=290 must be between 1 and the number of database rows, 240" in refused(
        [*command, "--neighbours", "290"]
    )
    assert "k=241 must be between 1 and the number of database rows, 240" in refused([*command, "-k", "241"])
    assert "radius=0.0 must be above 0" in refused([*command, "--radius", "0"])
    assert "precision=2.0 must be greater than 0 and at most 1" in refused([*command, "--precision", "2"])
    assert "precision=0.5 needs at least 2 queries" in refused([*command, "--precision", "0.5", "--n-queries", "1"])
    assert "does not exist" in refused([*command, "--html", tmp_path / "no" / "page.html"])
    table = ["evaluate", built, shop / "shop.csv", "--labels", "sku"]
    assert "relevant marks no row of the database for any query" in refused(table)
    assert "--neighbours cannot be used" in refused([*table, "--neighbours", "3"])
    assert "relevant marks no row of the database for any query" in refused([*command, "--radius", "1e-9"])
    (tmp_path / "few.txt").write_text("a\nb\n")
    assert "has 2 labels" in refused([*command, "--labels", tmp_path / "few.txt"])
    asked = [*command, "--queries", tmp_path / "q.npy"]
    assert "has 300 labels; --queries has 50 rows" in refused([*asked, "--labels", shop / "labels.txt"])
    assert "n_queries=3 draws rows of the database; it cannot be used with queries" in refused(
        [*asked, "--n-queries", "3"]
    )
