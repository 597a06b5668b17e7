"""Catalogues and servers that several test files use."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

import thpi
from thpi.index import HammingIndex
from thpi.web import Catalogue, Engine, Settings, create_app, demo_catalogue
from thpi.web.connections import guarded

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


@pytest.fixture(scope="session")
def demo() -> Catalogue:
    """The bundled digits at two code lengths, the first item of the gallery with a name that is markup."""
    catalogue = demo_catalogue(bits=[16, 32])
    assert catalogue.items is not None
    assert catalogue.gallery is not None
    names = list(catalogue.items.names)
    names[int(catalogue.gallery[0])] = HOSTILE_NAME
    return replace(catalogue, items=replace(catalogue.items, names=tuple(names)))


@pytest.fixture(scope="session")
def compared() -> Catalogue:
    """The bundled shop, the first item of the gallery with a name that is markup."""
    catalogue = demo_catalogue("shop")
    assert catalogue.items is not None
    assert catalogue.gallery is not None
    names = list(catalogue.items.names)
    names[int(catalogue.gallery[0])] = HOSTILE_NAME
    return replace(catalogue, items=replace(catalogue.items, names=tuple(names)))


@pytest.fixture(scope="session")
def shop() -> Catalogue:
    """A user's own model and index: 200 items with text ids, 12 numbers a vector, 20 bits."""
    X = np.random.RandomState(0).standard_normal((200, 12))
    hasher = thpi.LSH(n_bits=20, random_state=0).fit(X)
    index = HammingIndex(20, model=hasher.fingerprint_)
    index.add(hasher.transform(X), ids=[f"item/{i}" for i in range(200)])
    return Catalogue("shop", (Engine(hasher, index),))


@pytest.fixture(scope="session")
def shop_vectors() -> np.ndarray:
    return np.random.RandomState(0).standard_normal((200, 12))


@pytest.fixture(scope="session")
def live() -> Iterator[Callable[..., str]]:
    """Give a function that serves a catalogue on a free port of this machine, and gives its address."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(catalogue: Catalogue, settings: Any = None) -> str:
        app, http = create_app(catalogue, settings), guarded(settings or Settings())
        config = uvicorn.Config(app, port=0, log_level="error", lifespan="off", http=http, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started:
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.01)
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield start
    for server, _ in servers:
        server.should_exit = True
    for _, thread in servers:
        thread.join(20)


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
