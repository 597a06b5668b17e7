from __future__ import annotations

import csv
import json
import re

import pytest

import thpi
from thpi.cli import run
from thpi.datasets import EXAMPLE_FILES, shop_task


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Give what the command printed, the page, and the collection."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(["demo", str(folder / "shop.thpi"), "--html", str(folder / "page.html")]) == 0
    return out.getvalue(), (folder / "page.html").read_text(encoding="utf-8"), folder / "shop.thpi"


@pytest.mark.slow
def test_the_table_shows_that_tags_help(shown):
    rows = re.findall(r"^ (.+?) +([\d.]+) +([\d.]+) *$", shown[0], flags=re.MULTILINE)
    precisions = {name: float(precision) for name, precision, _ in rows}
    assert len(precisions) == 5
    helped = precisions.pop("AutoHasher, pictures and tags")
    assert helped > 5 + max(precisions.values())
    assert all(12.5 < value < 100 for value in precisions.values())  # an eighth is chance
    assert "page.html" in shown[0]


@pytest.mark.slow
def test_the_page_shows_every_new_drawing_and_marks_what_is_right(shown):
    _, page, _ = shown
    assert page.count('aria-label="query"') == 200
    blocks = [re.findall(r' (right|wrong)"', block) for block in page.split('<div class="found">')[1:]]
    assert len(blocks) == 400
    means = [sum(block.count("right") for block in blocks[side::2]) / 200 for side in (0, 1)]
    titles = re.findall(r"<span>[^<]*: ([\d.]+) of 8 right</span>", page)
    assert titles == [f"{mean:.1f}" for mean in means]
    assert "<script" not in page
    assert not re.search(r"(?:src|href|url\()=?[\"']?https?:", page)


@pytest.mark.slow
def test_the_collection_has_the_other_drawings_with_their_tags(shown, tmp_path, capsys):
    out, _, path = shown
    assert f"thpi serve {path}" in out
    task = shop_task()
    with thpi.open(path) as made:
        assert made.ids.tolist() == task.ids[task.database].tolist()
        tags, picture = made.details(str(task.ids[17]))
        assert tags == ", ".join(task.shop.show(17).tags)
        assert picture == task.shop.pictures[17]
        made.check()
    new = ",".join(["id", *(f"f{j}" for j in range(1280))]) + "\n"
    new += "".join(",".join(map(str, [task.ids[row], *task.steps[row]])) + "\n" for row in task.queries)
    (tmp_path / "new.csv").write_text(new)  # as in the tables of the tutorial
    capsys.readouterr()
    assert run(["search", str(path), str(tmp_path / "new.csv"), "-k", "8", "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    right = [
        hit["id"].split("-")[0] == answer["query"].split("-")[0] for answer in answers for hit in answer["neighbours"]
    ]
    assert f"{sum(right) / 200:.1f}" in re.search(r"AutoHasher, pictures and tags .*", out)[0]


def _rows(path):
    with open(path, newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_tables_of_a_tiny_shop_shuffled_and_partly_unpaired(tmp_path, refused):
    folder = tmp_path / "shop"
    assert run(["demo", "--tables", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(EXAMPLE_FILES)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 200 * 1024
    pictures, texts, kinds, new = (_rows(folder / name) for name in EXAMPLE_FILES)
    assert (len(pictures), len(texts), len(kinds), len(new)) == (160, 180, 210, 10)
    assert len(set(pictures) & set(texts)) == 140
    assert len(set(pictures) | set(texts)) == 200
    assert [name for name in texts if name in pictures] != [name for name in pictures if name in texts]
    assert set(kinds) == set(pictures) | set(texts) | set(new)
    assert all(name.startswith(f"{row['kind']}-") for name, row in kinds.items())
    assert "exists already" in refused(["demo", "--tables", folder])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(["demo", "--tables", str(folder), "--force"]) == 0
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert "must be a folder" in refused(["demo", "--tables", folder / "new.csv"])
    assert "must be a folder" in refused(["demo", "--tables", tmp_path / "no" / "shop"])


@pytest.mark.slow
def test_the_drawings_are_written_with_thumbnails_and_not_over_others(tmp_path, capsys, refused):
    folder = tmp_path / "shop"
    assert run(["demo", "--tables", str(folder), "--drawings"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {folder / 'thumbnails'}"
    assert len(list((folder / "thumbnails").iterdir())) == 1000
    assert "exists already" in refused(["demo", "--tables", folder, "--drawings"])
    assert "exists already" in refused(["demo", "--tables", folder])  # pictures.csv is in both


@pytest.mark.slow
def test_the_commands_of_its_help_find_items_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--tables", "shop"]) == 0
    assert run(["build", "shop.thpi", "shop/pictures.csv", "--privileged", "shop/texts.csv"]) == 0
    capsys.readouterr()
    assert run(["search", "shop.thpi", "shop/new.csv", "-k", "1", "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    right = [answer["query"].split("-")[0] == answer["neighbours"][0]["id"].split("-")[0] for answer in answers]
    assert sum(right) >= 8


def test_an_existing_page_is_not_overwritten_without_force(tmp_path, refused):
    (tmp_path / "page.html").write_text("mine")
    assert "exists already" in refused(["demo", tmp_path / "s.thpi", "--html", tmp_path / "page.html"])
    assert (tmp_path / "page.html").read_text() == "mine"


def test_demo_refuses_what_it_cannot_do(capsys):
    assert run(["demo", "--bits", "0"]) == 2
    assert "--bits" in capsys.readouterr().err
