from __future__ import annotations

import json

import numpy as np
import pytest

from thpi.cli import run
from thpi.cli._frontier import draw_points


@pytest.fixture
def vectors(tmp_path):
    rng = np.random.RandomState(0)
    np.save(tmp_path / "v.npy", rng.standard_normal((300, 12)) * np.linspace(2, 0.5, 12))
    return str(tmp_path / "v.npy")


QUICK = ["--method", "ITQ", "--method", "SQ 8", "--method", "float", "--bytes", "1", "--bytes", "12"]


def test_a_table_a_plot_and_a_sentence(vectors, capsys):
    assert run(["compare", vectors, *QUICK, "--recall", "0.9"]) == 0
    out = capsys.readouterr().out
    assert "240 rows of 12 dimensions, 60 other rows as queries" in out
    assert "The smallest code with recall 90 % of the 10 nearest is SQ 8, asymmetric: 12" in out
    header = next(line for line in out.splitlines() if "recall at" in line and "bytes" in line)
    rows = [line for line in out.splitlines() if " SQ 8 asym" in line or "*SQ 8 asym" in line]
    assert all(len(line) <= 80 for line in [header, *rows])
    # The table lines up: the numbers of bytes end below their title.
    assert all(line[: header.index("bytes") + 5].rstrip()[-1].isdigit() for line in rows)


def test_json_has_all_of_it(vectors, capsys):
    assert run(["compare", vectors, *QUICK, "--index-recall", "0.9", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {result["method"] for result in facts["results"]} == {"ITQ", "SQ 8", "float"}
    assert facts["choice"]["n_bytes"] == 12
    assert [(each["k"], each["candidates"]) for each in facts["results"][0]["recalls"]] == [
        (1, 1), (10, 10), (10, 100), (100, 100),
    ]  # fmt: skip


def test_files(vectors, tmp_path, capsys, refused):
    command = ["compare", vectors, *QUICK, "--html", str(tmp_path / "page.html"), "--write", str(tmp_path / "best")]
    assert run(command) == 0
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "best.faiss").exists()
    assert "SQ 8, 12 bytes, learned from all rows" in capsys.readouterr().out
    assert "exists already; --force replaces it" in refused(command)


def test_labels_are_another_meaning(tmp_path, vectors, capsys):
    (tmp_path / "kinds.txt").write_text("\n".join("ab"[int(x > 0)] for x in np.load(vectors)[:, 0]))
    command = ["compare", vectors, "--method", "float", "--bytes", "1", "--labels", str(tmp_path / "kinds.txt")]
    assert run([*command, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["meaning"] == "same label in first 10"
    assert "AutoHasher, labels" in {result["method"] for result in facts["results"]}


def test_what_is_refused(vectors, tmp_path, refused):
    assert "--recall 2 must be above 0" in refused(["compare", vectors, "--recall", "2"])
    assert "--method 'XQ' must be one of sign, " in refused(["compare", vectors, "--method", "XQ"])
    assert "does not exist" in refused(["compare", vectors, "--write", str(tmp_path / "no" / "best")])
    assert "does not exist" in refused(["compare", str(tmp_path / "no.npy"), "--html", str(tmp_path / "no" / "p.html")])


def test_points_are_where_their_numbers_say():
    lines = draw_points({"a": [(8, 50.0), (128, 100.0)], "b": [(32, 75.0)]}, 75.0, width=41, height=11)
    assert lines[0] == " 100 |" + " " * 40 + "a"
    assert lines[10] == "  50 |a"
    assert lines[5][6 + 20] == "b"
    assert lines[5].count("·") == 40
    assert lines[12].split() == ["8", "16", "32", "64", "128", "bytes"]
