"""Ids of every kind, from a table to codes, to an index, and back in the results of a search."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from thpi.cli import run
from thpi.export import read_faiss, read_npy, read_parquet

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
READ = {".npy": read_npy, ".parquet": read_parquet, ".faiss": read_faiss}


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
def test_ids_come_back_as_they_were(table, X, tmp_path, ids, capsys, refused):
    rows, model, index = table(tmp_path, ids, X), tmp_path / "m", tmp_path / "i"
    assert run(["fit", str(rows), str(model), "--bits", "5"]) == 0
    for suffix, read in READ.items():
        codes = tmp_path / f"codes{suffix}"
        if suffix == ".faiss" and ids is TEXTS:
            assert "integers only" in refused(["encode", model, rows, codes])
            continue
        assert run(["encode", str(model), str(rows), str(codes)]) == 0
        assert read(codes).ids.tolist() == ids
        again = tmp_path / f"again{suffix}"
        assert run(["index", "build", str(codes), str(index), "--force"]) == 0
        assert run(["export", str(index), str(again)]) == 0
        assert read(again).ids.tolist() == ids
    capsys.readouterr()
    assert run(["search", str(index), str(rows), "--model", str(model), "-k", str(len(ids)), "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # Names of queries are texts in a csv file, and of the kind of the column in a parquet file.
    assert [str(answer["query"]) for answer in answers] == [str(name) for name in ids]
    for answer, name in zip(answers, ids, strict=True):
        found = {hit["id"]: hit["distance"] for hit in answer["neighbours"]}
        assert sorted(found, key=str) == sorted(ids, key=str)
        assert found[name] == 0
    for name in ids:
        assert run(["search", str(index), f"--id={name}", "-k", "1", "--include-self", "--json"]) == 0
        (hit,) = json.loads(capsys.readouterr().out)["neighbours"]
        assert hit["distance"] == 0


def test_rows_on_standard_input_keep_their_names(table, X, tmp_path, capsys, monkeypatch):
    rows, model, index = table(tmp_path, TEXTS, X), tmp_path / "m", tmp_path / "i"
    if rows.suffix == ".parquet":
        pytest.skip("standard input is text")
    assert run(["fit", str(rows), str(model), "--bits", "5"]) == 0
    assert run(["encode", str(model), str(rows), str(tmp_path / "c.npy")]) == 0
    assert run(["index", "build", str(tmp_path / "c.npy"), str(index)]) == 0
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.StringIO(rows.read_text(encoding="utf-8"), newline=""))
    assert run(["search", str(index), "-", "--model", str(model), "-k", "1", "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["query"] for answer in answers] == TEXTS


def test_a_row_without_an_id_is_named(tmp_path, refused):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "x.csv").write_text("id,x,y\na,1,2\n,3,5\nb,4,4\n")
    assert run(["fit", str(tmp_path / "x.csv"), str(tmp_path / "m"), "--bits", "2"]) == 0
    pq.write_table(pa.table({"id": ["a", None], "x": [1, 2], "y": [3, 4]}), tmp_path / "x.parquet")
    pq.write_table(pa.table({"id": [1.5, 2.5], "x": [1, 2], "y": [3, 4]}), tmp_path / "f.parquet")
    for name, words in (("x.csv", "no id in row 1"), ("x.parquet", "no id in row 1"), ("f.parquet", "the id 1.5 in")):
        assert words in refused(["encode", tmp_path / "m", tmp_path / name, tmp_path / "c.npy"])
