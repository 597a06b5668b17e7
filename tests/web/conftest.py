"""Catalogues and servers that several test files use."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

import thpi
from thpi.index import HammingIndex
from thpi.web import Catalogue, Engine, Settings, create_app, demo_catalogue
from thpi.web.connections import guarded
from thpi.web.demo import BITS

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
def real_demo(shared_data: Path) -> Callable[[str], Catalogue]:
    """Give a function that gives the catalogue of a real data set, made once."""
    bits = BITS if "THPI_PICTURES" in os.environ else [32]  # the documentation shows the page as users see it
    return cache(lambda name: demo_catalogue(name, shared_data, bits=bits))


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
