"""The tutorial, as a reader goes through it: every block runs, and what the page shows comes out of it.

With THPI_PICTURES set to a folder, the pictures are kept there: ``THPI_PICTURES=docs/pictures pytest
tests/test_tutorial.py``.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blocks() -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def shop(blocks: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader who has come to the end of the page; what the commands print is compared on the way."""
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'thpi[plots]'")
    pytest.importorskip("pandas", reason="needs pandas: pip install 'thpi[frames]'")
    folder = tmp_path_factory.mktemp("tutorial")
    for kind, text in blocks:
        if kind == "python":
            _run([sys.executable, "-c", text], folder)
        elif kind == "console":
            for command, shown in re.findall(r"^\$ thpi ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                out = _run([sys.executable, "-m", "thpi", *shlex.split(command.replace("\\\n", " "))], folder)
                _check_shown(shown, out)
    return folder


def _run(command: list[str], folder: Path) -> str:
    given = os.environ | {"COLUMNS": "80", "MPLBACKEND": "agg"}  # the page shows 80 columns
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _check_shown(shown: str, out: str) -> None:
    """Check that every line of the page is printed, in its order; "..." stands for others. Last digits may differ."""
    printed = iter(_words(line) for line in out.splitlines())
    for line in map(_words, shown.splitlines()):
        if line and line != ["..."]:
            assert any(_alike(line, other) for other in printed), f"{' '.join(line)!r} is not in the output:\n{out}"


def _words(line: str) -> list[str]:
    return line.replace("±", " ± ").replace("(", "( ").replace(")", " )").split()


def _alike(line: list[str], other: list[str]) -> bool:
    return len(line) == len(other) and all(map(_same, line, other))


def _same(word: str, other: str) -> bool:
    try:
        return abs(float(word) - float(other)) <= 0.011 * max(1.0, abs(float(word)))
    except ValueError:
        return word == other or set(word + other) <= set("█▏▎▍▌▋▊▉")


def test_the_picture_of_what_was_found(shop: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow, which comes with matplotlib")
    with image.open(shop / "found.png") as opened:
        assert opened.width > 1000
        _keep(shop / "found.png", "tutorial-found.png")


@pytest.fixture
def address(shop: Path, blocks: list[tuple[str, str]]) -> Iterator[str]:
    """The server of the page, on a free port."""
    pytest.importorskip("fastapi", reason="needs fastapi: pip install 'thpi[serve]'")
    (command,) = (text for kind, text in blocks if kind == "sh" and text.startswith("thpi serve"))
    arguments = [*shlex.split(command)[1:], "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "thpi", *arguments], cwd=shop, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        yield re.findall(r"http://\S+", line)[0]
        server.terminate()


def test_the_server_answers_the_request_of_the_page(address: str, blocks: list[tuple[str, str]]) -> None:
    httpx = pytest.importorskip("httpx", reason="needs httpx: pip install httpx")
    (command,) = (text for kind, text in blocks if kind == "sh" and text.startswith("curl"))
    words = shlex.split(command)
    assert words[1] == "localhost:8000/search"
    answer = httpx.post(f"{address}/search", content=words[words.index("-d") + 1], headers=[words[3].split(": ")])
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["results"][0]["neighbours"]) == 3


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: chromium")
def test_the_page_shows_drawings(address: str, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.get_by_role("button", name="animals-4", exact=True).click()
        page.locator("#results-title", has_text="animals-4").wait_for()
        hits = page.locator(".hit img")
        hits.first.wait_for()
        playwright.expect(hits).to_have_count(10)
        for number in range(8):
            # wait_for_function would poll with eval, which the policy of the page forbids.
            hits.nth(number).evaluate("(image) => image.decode()")
        page.screenshot(path=tmp_path / "page.png")
        browser.close()
    _keep(tmp_path / "page.png", "tutorial-page.png")


def test_the_sql_finds_the_item_itself_first(shop: Path, blocks: list[tuple[str, str]], postgres_dsn: str) -> None:
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg: pip install 'thpi[pgvector]'")
    (export,) = (text for kind, text in blocks if kind == "sh" and text.startswith("thpi export"))
    (query,) = (text for kind, text in blocks if kind == "sql")
    words = [postgres_dsn if word.startswith("postgresql:") else word for word in shlex.split(export)[1:]]
    _run([sys.executable, "-m", "thpi", *words], shop)
    with psycopg.connect(postgres_dsn) as connection:
        found = connection.execute(query).fetchall()
        connection.execute("DROP TABLE drawings")
    assert len(found) == 4
    assert found[0] == ("animals-4", 0)
    assert [distance for _, distance in found] == sorted(distance for _, distance in found)


def _keep(picture: Path, name: str) -> None:
    if "THPI_PICTURES" in os.environ:
        image = pytest.importorskip("PIL.Image")
        with image.open(picture) as opened:
            opened.convert("RGB").quantize(256, method=image.Quantize.FASTOCTREE).save(
                Path(os.environ["THPI_PICTURES"]) / name, optimize=True
            )
