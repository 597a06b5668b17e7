from __future__ import annotations

import re

import pytest

from thpi.cli import run


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Give what the command printed, and the page."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(["demo", "--output", str(folder / "page.html")]) == 0
    return out.getvalue(), (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_table_shows_that_tags_help(shown):
    rows = re.findall(r"│ (.+?) +│ +([\d.]+) │ +([\d.]+) │", shown[0])
    precisions = {name: float(precision) for name, precision, _ in rows}
    assert len(precisions) == 5
    helped = precisions.pop("AutoHasher, pictures and tags")
    assert helped > 5 + max(precisions.values())
    assert all(12.5 < value < 100 for value in precisions.values())  # an eighth is chance
    assert "page.html" in shown[0]


@pytest.mark.slow
def test_the_page_shows_every_new_drawing_and_marks_what_is_right(shown):
    _, page = shown
    assert page.count('aria-label="query"') == 200
    blocks = [
        re.findall(r' (right|wrong)"', block) for block in re.findall(r'<div class="found">(.*?)</div></div>', page)
    ]
    assert len(blocks) == 400
    means = [sum(block.count("right") for block in blocks[side::2]) / 200 for side in (0, 1)]
    titles = re.findall(r"<span>[^<]*: ([\d.]+) of 8 right</span>", page)
    assert titles == [f"{mean:.1f}" for mean in means]
    assert "<script" not in page
    assert not re.search(r"(?:src|href|url\()=?[\"']?https?:", page)


def test_an_existing_page_is_not_overwritten_without_force(tmp_path, refused):
    (tmp_path / "page.html").write_text("mine")
    assert "exists already" in refused(["demo", "--output", tmp_path / "page.html"])
    assert (tmp_path / "page.html").read_text() == "mine"


def test_demo_refuses_what_it_cannot_do(capsys):
    assert run(["demo", "--bits", "0"]) == 2
    assert "--bits" in capsys.readouterr().err
