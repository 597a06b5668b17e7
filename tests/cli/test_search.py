from __future__ import annotations

import io
import json
import resource
import subprocess
import sys

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.codes import hamming_distances
from thpi.collection import Details


def _nearest(shop, row, k):
    """Brute force: the k nearest by (distance, order)."""
    with thpi.open(shop / "collection.thpi") as made:
        codes = made.codes_of(made.ids)
    distances = hamming_distances(codes[[row]], codes)[0]
    order = np.argsort(distances, kind="stable")[:k]
    return [{"id": f"A-{i:03d}", "distance": int(distances[i])} for i in order]


def _answers(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def _type(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_every_way_to_ask_gives_the_same_answer(shop, capsys, monkeypatch):
    vector = np.load(shop / "target.npy")[7].tolist()
    lines = (shop / "shop.csv").read_text().splitlines()
    expected = _nearest(shop, 7, 4)
    for arguments, stdin, name in (
        ([str(shop / "target.npy"), "--row", "7"], "", 7),
        ([str(shop / "shop.csv"), "--row", "7", "--ids", "sku"], "", "A-007"),
        (["-"], json.dumps(vector), 0),
        (["-"], "\n" + json.dumps({"id": "q", "vector": vector}) + "\n", "q"),
        (["-"], ",".join(map(repr, vector)), 0),
        (["-", "--ids", "sku"], f"{lines[0]}\n{lines[8]}\n", "A-007"),
        (["-", "--ids", "sku", "--row", "1"], f"{lines[0]}\n{lines[5]}\n{lines[8]}\n", "A-007"),
    ):
        _type(monkeypatch, stdin)
        command = ["search", str(shop / "collection.thpi"), *arguments, "-k", "4", "--order", "hamming", "--json"]
        assert run(command) == 0
        assert _answers(capsys) == [{"query": name, "order": "hamming", "neighbours": expected}], arguments


def test_a_file_of_queries_is_answered_line_by_line(shop, capsys):
    command = ["search", str(shop / "collection.thpi"), str(shop / "target.npy")]
    assert run([*command, "-k", "3", "--order", "hamming", "--json"]) == 0
    answers = _answers(capsys)
    assert [answer["query"] for answer in answers] == list(range(300))
    for row in (0, 150, 299):
        assert answers[row]["neighbours"] == _nearest(shop, row, 3)


def test_an_item_is_not_its_own_neighbour(shop, capsys):
    command = ["search", str(shop / "collection.thpi"), "--id", "A-007", "--json"]
    assert run([*command, "-k", "4"]) == 0
    assert _answers(capsys) == [{"query": "A-007", "order": "hamming", "neighbours": _nearest(shop, 7, 5)[1:]}]


def test_rows_are_searched_by_asymmetric_distance_unless_told_otherwise(shop, capsys):
    X = np.load(shop / "target.npy")
    with thpi.open(shop / "collection.thpi") as made:
        hasher, codes = made.hasher, made.codes_of(made.ids)
    differ = np.unpackbits(hasher.transform(X[[7]]) ^ codes, axis=1, bitorder="little")[:, :24].astype(bool)
    distances = (differ * np.abs(hasher.decision_function(X[[7]]))).sum(axis=1)
    order = np.argsort(distances, kind="stable")[:5]
    command = ["search", str(shop / "collection.thpi"), str(shop / "target.npy"), "--row", "7", "-k", "5"]
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


def test_the_table_is_readable(shop, capsys):
    assert run(["search", str(shop / "collection.thpi"), "--id", "A-000", "-k", "2"]) == 0
    title, first, second = capsys.readouterr().out.splitlines()
    assert title == "query A-000, codes of 24 bits, Hamming distance"
    (expected, _) = _nearest(shop, 0, 3)[1:]
    assert first.split()[:4] == ["1", expected["id"], "distance", str(expected["distance"])]
    assert second.split()[0] == "2"


def test_ids_and_texts_cannot_write_to_the_terminal(shop, collection, capsys):
    X = np.load(shop / "target.npy")[:1]
    with thpi.open(collection) as made:
        made.add(X, ["\x1b[31mred\n"], details=[Details("\x1b[2Jtext")])
    assert run(["search", str(collection), "--id", "A-000", "-k", "1"]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[31mred" in out
    assert "\\x1b[2Jtext" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("[1, 2]", "has 2 columns of features; the model was fitted on 64"),
        ("[1, 2", "line 1 is not JSON"),
        ('{"vector": "x"}', "line 1 must be a list of finite numbers"),
        ("[NaN]", "line 1 must be a list of finite numbers"),
        ("1,x,2\n", "has no column 'kar0'"),
        ("", "has no rows"),
    ],
)
def test_what_is_wrong_on_standard_input_is_named(shop, refused, monkeypatch, stdin, message):
    _type(monkeypatch, stdin)
    assert message in refused(["search", shop / "collection.thpi", "-"])


def test_bad_input_is_one_line(shop, tmp_path, refused):
    path, rows = shop / "collection.thpi", shop / "target.npy"
    assert "say what to search for" in refused(["search", path])
    assert "'B-1' is not in the collection; it has ids like A-000," in refused(["search", path, "--id", "B-1"])
    assert "--row 900 is beyond the rows" in refused(["search", path, rows, "--row", "900"])
    assert "is not a thpi collection" in refused(["search", shop / "codes.npy", "--id", "A-000"])
    assert "does not exist" in refused(["search", tmp_path / "no.thpi", "--id", "A-000"])
    assert "'nearest' must be asymmetric or hamming" in refused(["search", path, rows, "--order", "nearest"])
    assert "of an item only the code is known" in refused(["search", path, "--id", "A-000", "--order", "asymmetric"])
    lines = (shop / "shop.csv").read_text().splitlines()
    (tmp_path / "twice.csv").write_text("\n".join([*lines, lines[3]]))
    assert "1 ids occur more than once: 'A-002'" in refused(["search", path, tmp_path / "twice.csv", "--id", "sku"])


_WALK = """
import sys
from thpi.cli import run
assert run(sys.argv[1:]) == 0
names = sorted(name for name in sys.modules if name.split(".")[0] == "thpi")
print("walked:", *names)
print("heavy:", sorted({"sklearn", "scipy", "faiss", "rich"} & set(sys.modules)))
"""


def _walk(*command):
    done = subprocess.run(
        [sys.executable, "-c", _WALK, "search", *map(str, command)], capture_output=True, text=True, check=True
    )
    walked, heavy = done.stdout.splitlines()[-2:]
    assert heavy == "heavy: []"
    return walked.split()[1:]


def test_a_search_walks_few_files_and_no_heavy_library(shop):
    by_id = _walk(shop / "collection.thpi", "--id", "A-003")
    cli = [name for name in by_id if name.startswith(("thpi.cli", "thpi.tables", "thpi.pairing"))]
    assert cli == ["thpi.cli", "thpi.cli._shared", "thpi.cli.search"]
    assert len(by_id) <= 21, by_id
    for queries, most in (("shop.csv", 27), ("target.npy", 35)):
        assert len(_walk(shop / "collection.thpi", shop / queries, "--row", "3")) <= most


def _seconds(*command):
    """The least of five processes: others may be busy."""
    found = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


@pytest.mark.slow
def test_the_first_answer_comes_soon(shop):
    numpy = _seconds(sys.executable, "-c", "import numpy")
    path = shop / "collection.thpi"
    ours = _seconds(sys.executable, "-m", "thpi", "search", path, shop / "shop.csv", "--row", "3", "--id", "sku")
    assert ours < 6 * numpy + 0.05, (ours, numpy)
