"""Collections and servers that several test files use."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thpi
from benchmarks.attack._server import Server, serving
from thpi.collection import Collection, Details, write

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Pictures load late; those on the screen are to be on the screenshot. One that the gallery has scrolled out of sight,
# or that is far above, never loads: it is not waited for longer than a second.
DECODE_VISIBLE = """() => Promise.all([...document.images]
    .filter((image) => image.getBoundingClientRect().top < innerHeight)
    .map((image) => Promise.race([
        image.decode().catch(() => null),
        new Promise((done) => setTimeout(done, 1000)),
    ])))"""

HOSTILE_NAME = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


PICTURE = (  # a red pixel, as a PNG file
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0c"
    b"IDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"
)


@pytest.fixture(scope="session")
def vectors() -> np.ndarray:
    return np.random.RandomState(0).standard_normal((200, 12))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, vectors: np.ndarray) -> Path:
    """A collection of 200 items with texts as ids, 12 numbers a vector, 20 bits; the first five have details."""
    path = tmp_path_factory.mktemp("made") / "shop.thpi"
    hasher = thpi.LSH(n_bits=20, random_state=0).fit(vectors)
    details = {f"item/{i}": Details(f"the text of {i}", PICTURE) for i in range(5)}
    details["item/0"] = Details(HOSTILE_NAME, PICTURE)
    details["item/5"] = Details("x" * 1000, b"<svg onload='alert(1)'></svg>")
    ids = [f"item/{i}" for i in range(200)]
    write(path, hasher, hasher.transform(vectors), ids, about={"title": "shop"}, details=details)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A copy of the collection, to be changed."""
    return Path(shutil.copy(made, tmp_path / "shop.thpi"))


@pytest.fixture(scope="session")
def shop(made: Path) -> Iterator[Collection]:
    with thpi.open(made) as opened:
        yield opened


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., Server]]:
    """Give a function that serves a collection by ``thpi serve``, a process of its own, until the tests are done."""
    with ExitStack() as stack:
        yield lambda path, *options: stack.enter_context(serving(path.parent, *options))


@pytest.fixture(scope="module")
def server(made: Path, serve: Callable[..., Server]) -> Server:
    """A server with small limits."""
    return serve(made, "--max-body", "100000", "--max-k", "50", "--max-neighbours", "2000", "--time-limit", "2")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser."""
    if CHROMIUM is None:
        pytest.skip("needs the browser Chromium: apt-get install chromium, or the chromium of your system")
    api = pytest.importorskip("playwright.sync_api")
    api.expect.set_options(timeout=30_000)
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Give a function that opens the page and waits for its first results; no error may be logged meanwhile.

    The test file has a fixture ``address``.
    """
    opened, problems = [], []

    def start(at: str = address, *, wait: str | None = ".hit", **options: Any) -> Any:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        page = context.new_page()
        page.set_default_timeout(60_000)  # on a busy machine the first search takes long
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request", lambda request: None if request.url.startswith((at, "blob:")) else problems.append(request.url)
        )
        opened.append(context)
        page.goto(at)
        if wait:
            page.wait_for_selector(wait)
            page.wait_for_load_state("networkidle")
        return page

    yield start
    for context in opened:
        context.close()
    assert problems == []


@pytest.fixture
def keep(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that takes a screenshot, for the documentation where THPI_PICTURES says so."""

    def screenshot(page: Any, name: str, **options: Any) -> Path:
        folder = Path(os.environ.get("THPI_PICTURES", tmp_path))
        path = folder / f"page-{name}.png"
        page.wait_for_load_state("networkidle")
        page.evaluate(DECODE_VISIBLE)
        page.screenshot(path=path, **options)
        return path

    return screenshot


@pytest.fixture(scope="session")
def luminance() -> Callable[[str], float]:
    """Give the relative luminance of a colour, as the Web Content Accessibility Guidelines define it."""

    def relative(colour: str) -> float:
        channels = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    return relative
