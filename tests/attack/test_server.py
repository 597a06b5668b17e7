"""A real server under attack, for some seconds each; ``python -m benchmarks.attack`` does the same for longer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("granian", reason="needs the extra serve")

from benchmarks.attack import connections, requests, searches
from benchmarks.attack._server import N_FEATURES, Server, allow_many_files, make_shop, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    make_shop(folder, 20_000)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(folder) as started:
        yield started


@pytest.fixture(scope="module")
def with_few_files(folder: Path) -> Iterator[Server]:
    allow_many_files()
    with serving(folder, "--idle-limit", "1", "--time-limit", "2", open_files=connections.FILES) as started:
        yield started


@pytest.mark.parametrize("kind", [*connections.KINDS, connections.UNREAD])
def test_connections_that_are_held_shut_nobody_out(with_few_files: Server, kind: str) -> None:
    server = with_few_files
    outcome = connections.hold(server, kind, 20 if kind == connections.UNREAD else 1030, seconds=2)
    server.watch()
    assert outcome.wrong == []
    assert outcome.counts["answered"] >= 5
    assert server.log.stat().st_size < 20_000
    assert server.files < connections.FILES
    assert server.rss < 2**30


def test_connections_that_wait_are_closed(folder: Path) -> None:
    with serving(folder, "--idle-limit", "1", "--time-limit", "1") as server:
        assert connections.closed_in_time(server).wrong == []


@pytest.mark.parametrize("options", [(), searches.UNBOUNDED], ids=["bounded", "not bounded"])
def test_large_searches_do_not_pile_up(folder: Path, options: tuple[str, ...]) -> None:
    with serving(folder, "--time-limit", "2", *options) as server:
        server.ask("/search", {"vectors": [[0.0] * N_FEATURES] * 100, "k": 1000}, timeout=60)  # compiles the kernels
        for n in (14, 56):
            assert searches.pile(server, n, 1, {200, 503} if options else {422, 503}).wrong == []


def test_requests_that_nobody_sends_by_mistake_are_answered_or_closed() -> None:
    for outcome in requests.attack(0.02, seed=1):
        assert outcome.wrong == []


@pytest.mark.parametrize("wait", [0.0, 0.3], ids=["at once", "after the answer"])
def test_a_broken_body_is_no_failure_of_the_server(server: Server, wait: float) -> None:
    with server.connect() as connection:
        head, body = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"no length\r\n"
        connection.sendall(head if wait else head + body)
        answer = connection.recv(65536) if wait else b""
        time.sleep(wait)
        try:
            connection.sendall(body if wait else b"")
            while part := connection.recv(65536):
                answer += part
        except ConnectionError:
            pass
    assert answer.count(b"HTTP/1.1 ") == 1
    assert server.log.read_text() == ""
    assert server.ask("/health")[0] == 200
