from __future__ import annotations

import csv
import json

import pytest

from thpi.cli import run
from thpi.datasets import EXAMPLE_FILES


def _rows(path):
    with open(path, newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_a_tiny_shop_with_shuffled_partly_unpaired_tables(tmp_path, capsys, refused):
    folder = tmp_path / "shop"
    assert run(["example", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(EXAMPLE_FILES)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 200 * 1024
    pictures, texts, kinds, new = (_rows(folder / name) for name in EXAMPLE_FILES)
    assert (len(pictures), len(texts), len(kinds), len(new)) == (160, 180, 210, 10)
    assert len(set(pictures) & set(texts)) == 140
    assert len(set(pictures) | set(texts)) == 200
    assert [name for name in texts if name in pictures] != [name for name in pictures if name in texts]
    assert set(kinds) == set(pictures) | set(texts) | set(new)
    assert all(name.startswith(f"{row['kind']}-") for name, row in kinds.items())
    assert "exists already" in refused(["example", folder])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(["example", str(folder), "--force"]) == 0
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert "is a file" in refused(["example", folder / "new.csv"])
    assert "does not exist" in refused(["example", tmp_path / "no" / "shop"])


@pytest.mark.slow
def test_the_drawings_are_written_with_thumbnails_and_not_over_others(tmp_path, capsys, refused):
    folder = tmp_path / "shop"
    assert run(["example", str(folder), "--drawings"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {folder / 'thumbnails'}"
    assert len(list((folder / "thumbnails").iterdir())) == 1000
    assert "exists already" in refused(["example", folder, "--drawings"])
    assert "exists already" in refused(["example", folder])  # pictures.csv is in both


@pytest.mark.slow
def test_the_commands_of_its_help_find_items_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words in (
        "example shop",
        "fit shop/pictures.csv shop.thpi --privileged shop/texts.csv --bits 32",
        "encode shop.thpi shop/pictures.csv codes.npy",
        "index build codes.npy shop.index",
    ):
        assert run(words.split()) == 0
    capsys.readouterr()
    assert run(["search", "shop.index", "shop/new.csv", "--model", "shop.thpi", "-k", "1", "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    right = [answer["query"].split("-")[0] == answer["neighbours"][0]["id"].split("-")[0] for answer in answers]
    assert sum(right) >= 8
