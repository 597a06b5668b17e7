"""The tutorial, as a reader goes through it: what its blocks print, then its server, its page and its database.

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

from tests._pages import run_page

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blocks() -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def shop(blocks: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader who has come to the end of the page; what it prints is compared on the way."""
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs matplotlib: pip install 'thpi[plots]'")
    pytest.importorskip("pandas", reason="needs pandas: pip install 'thpi[frames]'")
    pyplot.switch_backend("agg")
    folder = tmp_path_factory.mktemp("tutorial")
    run_page(PAGE, folder)
    pyplot.close("all")
    return folder


def test_the_picture_of_what_was_found(shop: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow, which comes with matplotlib")
    with image.open(shop / "found.png") as opened:
        assert opened.width > 1000
        _keep(shop / "found.png", "tutorial-found.png")


@pytest.fixture
def address(shop: Path, blocks: list[tuple[str, str]]) -> Iterator[str]:
    """The server of the page, on a free port."""
    pytest.importorskip("granian", reason="needs granian: pip install 'thpi[serve]'")
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
        playwright.expect(hits.nth(9)).to_be_visible()
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
    subprocess.run([sys.executable, "-m", "thpi", *words], cwd=shop, check=True)
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
