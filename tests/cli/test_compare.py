from __future__ import annotations

import json

import numpy as np
import pytest

from thpi.cli import run


@pytest.fixture
def vectors(tmp_path):
    rng = np.random.RandomState(0)
    np.save(tmp_path / "v.npy", rng.standard_normal((300, 12)) * np.linspace(2, 0.5, 12))
    return str(tmp_path / "v.npy")


QUICK = ["--method", "ITQ", "--method", "SQ 8", "--method", "float", "--bytes", "1", "--bytes", "12"]


def test_a_table_and_a_sentence(vectors, capsys):
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
    assert run(["compare", vectors, *QUICK, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {result["method"] for result in facts["results"]} == {"ITQ", "SQ 8", "float"}
    assert facts["choice"]["n_bytes"] == 12
    assert [(each["k"], each["candidates"]) for each in facts["results"][0]["recalls"]] == [
        (1, 1), (10, 10), (10, 100), (100, 100),
    ]  # fmt: skip


def test_a_page(vectors, tmp_path, capsys, refused):
    command = ["compare", vectors, *QUICK, "--html", str(tmp_path / "page.html")]
    assert run(command) == 0
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert f"page: {tmp_path / 'page.html'}" in capsys.readouterr().out
    assert "exists already; --force replaces it" in refused(command)


def test_rows_that_were_not_learned_from(vectors, capsys):
    assert run(["compare", vectors, "--method", "ITQ", "--bytes", "1", "--unseen"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "120 rows of 12 dimensions, 60 other rows as queries" in out
    assert "All codes were learned from other rows than those searched." in out


def test_what_is_refused(vectors, tmp_path, refused):
    assert "recall=2.0 must be greater than 0" in refused(["compare", vectors, "--recall", "2"])
    assert "methods has 'XQ'; it must be one of sign, " in refused(["compare", vectors, "--method", "XQ"])
    assert "does not exist" in refused(["compare", str(tmp_path / "no.npy"), "--html", str(tmp_path / "no" / "p.html")])
