from __future__ import annotations

import io
import json

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.codes import hamming_distances
from thpi.export import read_npy


def _nearest(shop, row, k):
    """Brute force: the k nearest by (distance, order)."""
    codes = read_npy(shop / "codes.npy").codes
    distances = hamming_distances(codes[[row]], codes)[0]
    order = np.argsort(distances, kind="stable")[:k]
    return [{"id": f"A-{i:03d}", "distance": int(distances[i])} for i in order]


def _answers(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_way_to_ask_gives_the_same_answer(shop, capsys, monkeypatch):
    index, model = str(shop / "shop.index"), ["--model", str(shop / "shop.thpi")]
    vector = np.load(shop / "target.npy")[7].tolist()
    lines = (shop / "shop.csv").read_text().splitlines()
    expected = _nearest(shop, 7, 4)
    for arguments, stdin, name in (
        (["--row", "7", "--include-self"], "", "A-007"),
        (["--id", "A-007", "--include-self"], "", "A-007"),
        ([str(shop / "target.npy"), *model, "--row", "7"], "", 7),
        ([str(shop / "shop.csv"), *model, "--row", "7", "--ids", "sku"], "", "A-007"),
        ([str(shop / "codes.npy"), "--row", "7"], "", "A-007"),
        (["-", *model], json.dumps(vector), 0),
        (["-", *model], "\n" + json.dumps({"id": "q", "vector": vector}) + "\n", "q"),
        (["-", *model], ",".join(map(repr, vector)), 0),
        (["-", *model, "--ids", "sku"], f"{lines[0]}\n{lines[8]}\n", "A-007"),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        assert run(["search", index, *arguments, "-k", "4", "--order", "hamming", "--json"]) == 0
        assert _answers(capsys) == [{"query": name, "order": "hamming", "neighbours": expected}], arguments


def test_a_file_of_queries_is_answered_line_by_line(shop, capsys):
    command = ["search", str(shop / "shop.index"), str(shop / "target.npy"), "--model", str(shop / "shop.thpi")]
    assert run([*command, "-k", "3", "--order", "hamming", "--json"]) == 0
    answers = _answers(capsys)
    assert [answer["query"] for answer in answers] == list(range(300))
    for row in (0, 150, 299):
        assert answers[row]["neighbours"] == _nearest(shop, row, 3)


@pytest.mark.parametrize("asked", [["--row", "7"], ["--id", "A-007"]])
def test_an_item_is_not_its_own_neighbour(shop, capsys, asked):
    """As on the server; before, it came first and took the place of a neighbour."""
    assert run(["search", str(shop / "shop.index"), *asked, "-k", "4", "--json"]) == 0
    assert _answers(capsys) == [{"query": "A-007", "order": "hamming", "neighbours": _nearest(shop, 7, 5)[1:]}]
    assert run(["search", str(shop / "shop.index"), *asked, "--radius", "4", "--json"]) == 0
    within = [hit for hit in _nearest(shop, 7, 300) if hit["distance"] <= 4]
    assert _answers(capsys)[0]["neighbours"] == [hit for hit in within if hit["id"] != "A-007"]


@pytest.mark.parametrize("item", ["9", "-3"])
def test_an_item_with_a_number_as_id_is_not_its_own_neighbour(tmp_path, capsys, item):
    from thpi.index import HammingIndex

    index = HammingIndex(8)
    index.add(np.zeros((3, 1), dtype=np.uint8), ids=[4, 9, -3])
    index.save(tmp_path / "i")
    assert run(["search", str(tmp_path / "i"), "--id", item, "--json"]) == 0
    assert [hit["id"] for hit in _answers(capsys)[0]["neighbours"]] == [i for i in (4, 9, -3) if i != int(item)]


def test_radius_gives_all_within(shop, capsys):
    assert run(["search", str(shop / "shop.index"), "--row", "0", "--radius", "4", "--include-self", "--json"]) == 0
    expected = [hit for hit in _nearest(shop, 0, 300) if hit["distance"] <= 4]
    assert len(expected) > 1
    assert _answers(capsys)[0]["neighbours"] == expected


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the model knows those of the csv file
def test_rows_are_searched_by_asymmetric_distance_unless_told_otherwise(shop, capsys):
    X, codes = np.load(shop / "target.npy"), read_npy(shop / "codes.npy").codes
    hasher = thpi.load(shop / "shop.thpi")
    differ = np.unpackbits(hasher.transform(X[[7]]) ^ codes, axis=1, bitorder="little")[:, :24].astype(bool)
    distances = (differ * np.abs(hasher.decision_function(X[[7]]))).sum(axis=1)
    order = np.argsort(distances, kind="stable")[:5]
    command = ["search", str(shop / "shop.index"), str(shop / "target.npy"), "--model", str(shop / "shop.thpi")]
    command += ["--row", "7", "-k", "5"]
    for told in ([], ["--order", "asymmetric"]):
        assert run([*command, *told, "--json"]) == 0
        (answer,) = _answers(capsys)
        assert answer["order"] == "asymmetric"
        assert [hit["id"] for hit in answer["neighbours"]] == [f"A-{i:03d}" for i in order]
        np.testing.assert_allclose([hit["distance"] for hit in answer["neighbours"]], distances[order], atol=1e-4)
    assert run(command) == 0
    title, *hits = capsys.readouterr().out.splitlines()
    assert title == "query 7, codes of 24 bits, asymmetric distance"
    assert len(hits) == 5
    assert run([*command, "--order", "hamming", "--json"]) == 0
    assert _answers(capsys) == [{"query": 7, "order": "hamming", "neighbours": _nearest(shop, 7, 5)}]
    assert run([*command, "--radius", "3", "--json"]) == 0
    assert _answers(capsys)[0]["order"] == "hamming"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["QUERIES", "MODEL", "--order", "nearest"], "--order 'nearest' must be asymmetric or hamming"),
        (["QUERIES", "MODEL", "--order", "asymmetric", "--radius", "3"], "--radius 3 counts bits"),
        (["QUERIES", "--order", "asymmetric"], "--order asymmetric needs the projections of the queries"),
        (["--row", "3", "--order", "asymmetric"], "--order asymmetric needs the projections of the queries"),
    ],
)
def test_an_order_says_what_it_needs(shop, refused, arguments, message):
    given = {"QUERIES": [shop / "target.npy"], "MODEL": ["--model", shop / "shop.thpi"]}
    words = [word for argument in arguments for word in given.get(argument, [argument])]
    assert message in refused(["search", shop / "shop.index", *words])


def test_the_table_is_readable(shop, capsys):
    assert run(["search", str(shop / "shop.index"), "--id", "A-000", "-k", "2", "--include-self"]) == 0
    title, first, second = capsys.readouterr().out.splitlines()
    assert title == "query A-000, codes of 24 bits, Hamming distance"
    assert first.split()[:4] == ["1", "A-000", "distance", "0"]
    assert second.split()[0] == "2"


def test_ids_cannot_write_to_the_terminal(shop, tmp_path, capsys):
    from thpi.index import HammingIndex

    index = HammingIndex(8)
    index.add(np.zeros((1, 1), dtype=np.uint8), ids=["\x1b[31mred\n"])
    index.save(tmp_path / "i")
    assert run(["search", str(tmp_path / "i"), "--row", "0"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("[1, 2]", "has 2 columns of features; the model was fitted on 64"),
        ("[1, 2", "line 1 is not JSON"),
        ('{"vector": "x"}', "line 1 must be a list of finite numbers"),
        ("[1]\n[NaN]", "line 2 must be a list of finite numbers"),
        ("[1]\n[1, 2]", "line 2 has 2 numbers"),
        ("1,x,2\n", "has no column 'kar0'"),
        ("", "has no rows"),
    ],
)
def test_what_is_wrong_on_standard_input_is_named(shop, refused, monkeypatch, stdin, message):
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    assert message in refused(["search", shop / "shop.index", "-", "--model", shop / "shop.thpi"])


def test_bad_input_is_one_line(shop, tmp_path, refused):
    index = shop / "shop.index"
    assert "say what to search for" in refused(["search", index])
    assert "--row 300 is beyond the rows of the index; it has 300" in refused(["search", index, "--row", "300"])
    assert "'B-1' is not in the index; it has ids like A-000," in refused(["search", index, "--id", "B-1"])
    assert "--model names the model" in refused(["search", index, "-"])
    assert "without metadata" in refused(["search", index, shop / "target.npy"])
    assert "is a npy file; an index is needed" in refused(["search", shop / "codes.npy", "--row", "1"])
    assert "leave out QUERIES" in refused(["search", index, shop / "codes.npy", "--id", "A-000"])
    for queries in (shop / "shop.csv", f"{shop}/views.npz:target", shop / "target.npy"):
        assert "--model names the model that encodes them" in refused(["search", index, queries])
    thpi.LSH(n_bits=16, random_state=0).fit(np.load(shop / "target.npy")).save(tmp_path / "other.thpi")
    assert "codes of 16 bits" in refused(["search", index, shop / "target.npy", "--model", tmp_path / "other.thpi"])
    assert "--row 900 is beyond" in refused(
        ["search", index, shop / "target.npy", "--model", shop / "shop.thpi", "--row", "900"]
    )
