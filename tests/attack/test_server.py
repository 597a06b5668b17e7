"""A real server under attack, for some seconds each; ``python -m benchmarks.attack`` does the same for longer."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra serve")

from benchmarks.attack import connections, searches
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
    with serving(folder, "--idle-limit", "2", "--time-limit", "30", open_files=connections.FILES) as started:
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


def test_a_body_with_two_lengths_is_refused(server: Server) -> None:
    request = b"GET /about HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    lengths = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % (5 + len(request))
    with server.connect() as connection:
        connection.sendall(b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\n" + lengths + b"0\r\n\r\n" + request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("wait", [0.0, 0.3], ids=["at once", "after the answer"])
def test_a_broken_body_is_no_failure_of_the_server(server: Server, wait: float) -> None:
    with server.connect() as connection:
        head, body = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"no length\r\n"
        connection.sendall(head if wait else head + body)
        answer = connection.recv(65536) if wait else b""
        time.sleep(wait)
        connection.sendall(body if wait else b"")
        while part := connection.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200 " if wait else b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("choice", [{"bits": 0}, {"method": ""}])
def test_an_empty_choice_is_an_error(server: Server, choice: dict[str, object]) -> None:
    status, answer = server.ask("/search", {"id": 3, **choice})
    assert status == 422
    assert b"is not served" in answer


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (0, 2**62), (2**70, 0), (0, True)])
def test_an_array_without_numbers_is_an_error(server: Server, shape: tuple[int, ...]) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    status, _ = server.ask("/search", stream.getvalue(), **{"content-type": "application/x-npy"})
    assert status == 422
