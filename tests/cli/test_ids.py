"""Ids of every kind, from a table to a collection, and back in the results of a search."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import thpi
from thpi.cli import run

TEXTS = [
    "plain",
    "Größe 42",
    "日本語",
    "a\u0301 combined",
    "x, y",
    "two\nlines",
    'said "so"',
    " spaces ",
    "-5",
    "007",
    "🧢",
]
NUMBERS = [-5, 0, 7, 2**63 - 1, -(2**63), 42, 1, 2, 3, 4, 10**18]


@pytest.fixture(scope="module")
def X():
    return np.random.RandomState(0).standard_normal((len(TEXTS), 5))


@pytest.fixture(params=["csv", "tsv", "parquet"])
def table(request):
    """Give a function that writes ids and rows to a file with names."""

    def write(folder, ids, X):
        path = folder / f"rows.{request.param}"
        columns = {f"x{j}": column.tolist() for j, column in enumerate(X.T)}
        if request.param == "parquet":
            pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            pq.write_table(pa.table({**columns, "id": ids}), path)
        else:
            with open(path, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, delimiter="," if request.param == "csv" else "\t")
                writer.writerow(["id", *columns])
                writer.writerows(zip(ids, *columns.values(), strict=True))
        return path

    return write


@pytest.mark.parametrize("ids", [TEXTS, NUMBERS], ids=["texts", "numbers"])
def test_ids_come_back_as_they_were(table, X, tmp_path, ids, capsys):
    rows, path = table(tmp_path, ids, X), tmp_path / "m"
    assert run(["build", str(path), str(rows), "--bits", "5"]) == 0
    with thpi.open(path) as made:
        assert made.ids.tolist() == ids
    capsys.readouterr()
    assert run(["search", str(path), str(rows), "-k", str(len(ids)), "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # Names of queries are texts in a csv file, and of the kind of the column in a parquet file.
    assert [str(answer["query"]) for answer in answers] == [str(name) for name in ids]
    for answer, name in zip(answers, ids, strict=True):
        found = {hit["id"]: hit["distance"] for hit in answer["neighbours"]}
        assert sorted(found, key=str) == sorted(ids, key=str)
        assert found[name] == 0
    for name in ids:
        assert run(["search", str(path), f"--id={name}", "-k", "20", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["query"] == name
        assert {hit["id"] for hit in answer["neighbours"]} == set(ids) - {name}
    assert run(["remove", str(path), "--", *map(str, ids[:4])]) == 0
    with thpi.open(path) as made:
        assert made.ids.tolist() == ids[4:]
    (tmp_path / "sold.txt").write_text("\n".join(str(name) for name in ids[8:10]), encoding="utf-8")
    assert run(["remove", str(path), "--from", str(tmp_path / "sold.txt")]) == 0
    with thpi.open(path) as made:
        assert made.ids.tolist() == [*ids[4:8], *ids[10:]]


def test_rows_on_standard_input_keep_their_names(table, X, tmp_path, capsys, monkeypatch):
    rows, path = table(tmp_path, TEXTS, X), tmp_path / "m"
    if rows.suffix == ".parquet":
        pytest.skip("standard input is text")
    assert run(["build", str(path), str(rows), "--bits", "5"]) == 0
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(rows.read_bytes())))
    assert run(["search", str(path), "-", "-k", "1", "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["query"] for answer in answers] == TEXTS


def test_numbers_become_texts_in_a_collection_of_texts(X, tmp_path, refused):
    for name, ids in (("a.csv", ["x", "y", "z"]), ("b.csv", [1, 2, 3]), ("c.csv", ["x2", "2", "4"])):
        lines = ["id,p,q,r", *(f"{i},{a},{b},{c}" for i, (a, b, c) in zip(ids, X[:3, :3].tolist(), strict=True))]
        (tmp_path / name).write_text("\n".join(lines))
    path = tmp_path / "m"
    assert run(["build", str(path), str(tmp_path / "a.csv"), "--bits", "2"]) == 0
    assert run(["add", str(path), str(tmp_path / "b.csv")]) == 0
    with thpi.open(path) as made:
        assert made.ids.tolist() == ["x", "y", "z", "1", "2", "3"]
    assert "ids='2' is in the collection already" in refused(["add", path, tmp_path / "c.csv"])
    with thpi.open(path) as made:
        assert len(made) == 6
    assert run(["build", str(path), str(tmp_path / "b.csv"), "--bits", "2", "--force"]) == 0
    assert "are of kind string; the ids stored here are int64" in refused(["add", path, tmp_path / "c.csv"])


def test_a_row_without_an_id_is_named(tmp_path, refused):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "x.csv").write_text("id,x,y\na,1,2\n,3,5\nb,4,4\n")
    pq.write_table(pa.table({"id": ["a", None], "x": [1, 2], "y": [3, 4]}), tmp_path / "x.parquet")
    pq.write_table(pa.table({"id": [1.5, 2.5], "x": [1, 2], "y": [3, 4]}), tmp_path / "f.parquet")
    for name, words in (("x.csv", "no id in row 1"), ("x.parquet", "no id in row 1"), ("f.parquet", "the id 1.5 in")):
        assert words in refused(["build", tmp_path / "m", tmp_path / name, "--bits", 2])
