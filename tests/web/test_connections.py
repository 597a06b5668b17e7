"""Connections that wait too long or are too many are closed; those that are served are not."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import pytest

from thpi.web import Catalogue, Settings
from thpi.web.connections import Connection

IDLE = 0.5
HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HEALTH = b"GET /healthz" + HOST + b"\r\n"


@pytest.fixture(scope="module")
def port(shop: Catalogue, live: Callable[..., str]) -> int:
    return int(urlsplit(live(shop, Settings(idle_limit=IDLE))).port or 0)


@pytest.fixture
def connect(port: int) -> Iterator[Callable[..., socket.socket]]:
    with ExitStack() as stack:

        def start(first: bytes = b"") -> socket.socket:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            connection.sendall(first)
            return connection

        yield start


def all_of(connection: socket.socket) -> bytes:
    """Read until the other side closes the connection."""
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionError:
        pass
    return data


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        connection.setblocking(True)


def until_closed(connection: socket.socket, drip: bytes) -> float:
    """Send something again and again, and return after how many seconds the connection was closed."""
    start = time.monotonic()
    while is_open(connection):
        assert time.monotonic() < start + 10, "the connection is never closed"
        try:
            connection.sendall(drip)
        except ConnectionError:
            break
        time.sleep(IDLE / 10)
        connection.settimeout(10)
    return time.monotonic() - start


@pytest.mark.parametrize("first", [b"", b"GET /heal", b"GET /healthz" + HOST], ids=["nothing", "line", "header"])
def test_a_connection_that_sends_no_request_is_closed(connect: Callable[..., socket.socket], first: bytes) -> None:
    start = time.monotonic()
    assert all_of(connect(first)) == b""
    assert IDLE * 0.9 < time.monotonic() - start < 8


def test_slow_headers_are_not_waited_for(connect: Callable[..., socket.socket]) -> None:
    assert until_closed(connect(b"GET /healthz" + HOST), b"X-a: b\r\n") < 8


def test_a_connection_is_kept_for_the_next_request_and_then_closed(connect: Callable[..., socket.socket]) -> None:
    connection = connect()
    for _ in range(4):
        time.sleep(IDLE / 2)
        connection.sendall(HEALTH)
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
    start = time.monotonic()
    assert all_of(connection) == b""
    assert IDLE * 0.9 < time.monotonic() - start < 8


def test_the_unread_body_of_an_answered_request_does_not_keep_a_connection(
    connect: Callable[..., socket.socket],
) -> None:
    connection = connect(b"GET /healthz" + HOST + b"Content-Length: 1000000\r\n\r\n")
    assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    assert until_closed(connection, b"x") < 8


def test_several_requests_at_once_are_all_answered(connect: Callable[..., socket.socket]) -> None:
    assert all_of(connect(HEALTH * 20)).count(b"HTTP/1.1 200") == 20


SEARCH = b"POST /search" + HOST + b'Content-Length: 16\r\n\r\n{"id": "item/3"}'


def test_many_small_requests_at_once_are_parsed_as_they_are_answered(
    shop: Catalogue, live: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    longest, look = 0, Connection.look

    def measured(self: Connection) -> None:
        nonlocal longest
        longest = max(longest, len(self.pipeline))
        look(self)

    monkeypatch.setattr(Connection, "look", measured)
    port = urlsplit(live(shop, Settings(idle_limit=IDLE))).port
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(SEARCH * 500)
        assert all_of(connection).count(b"HTTP/1.1 200") == 500
    assert 1 < longest < 100


def test_what_is_no_http_behind_a_request_does_not_spoil_its_answer(connect: Callable[..., socket.socket]) -> None:
    answer = all_of(connect(SEARCH * 3 + b"\x16\x03\x01\x02"))
    assert answer.count(b"HTTP/1.1 ") == answer.count(b"HTTP/1.1 200") == 3


@pytest.mark.parametrize("split", [False, True], ids=["at once", "in parts"])
def test_another_protocol_is_not_taken_up(connect: Callable[..., socket.socket], split: bool) -> None:
    """Some clients offer HTTP/2 with every first request."""
    head, _, body = SEARCH.partition(b"\r\n\r\n")
    head += b"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAQ\r\n\r\n"
    connection = connect(head if split else head + body + SEARCH)
    if split:
        time.sleep(IDLE / 5)
        connection.sendall(body + SEARCH)
    assert all_of(connection).count(b"HTTP/1.1 200") == 2
    assert all_of(connect(b"CONNECT a:80" + HOST + b"\r\n")).startswith(b"HTTP/1.1 400")


CHUNKED = b"POST /search" + HOST + b"Transfer-Encoding: chunked\r\n\r\n2"


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (b"GET /healthz" + HOST + b"X: ", b"400"),
        (b"GET /", b"400"),
        (SEARCH + b"GET /healthz" + HOST + b"X: ", b"200"),
        (CHUNKED + b"\r\n{}\r\n0\r\nX: ", b"400"),
        (CHUNKED + b";", b"400"),
    ],
    ids=["header", "address", "behind a request", "trailer", "chunk"],
)
def test_headers_without_end_are_refused(connect: Callable[..., socket.socket], first: bytes, status: bytes) -> None:
    connection = connect(first)
    with suppress(ConnectionError):  # the rest is not read
        for _ in range(100):
            connection.sendall(b"x" * 10_000)
    assert all_of(connection)[9:12] in (status, b"")  # and it is closed


@pytest.mark.parametrize("hosts", [b"", b"Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n"])
def test_a_request_has_one_host(connect: Callable[..., socket.socket], hosts: bytes) -> None:
    assert all_of(connect(b"GET /healthz HTTP/1.1\r\n" + hosts + b"\r\n")).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "first",
    [b"", b"GET /", b"POST /search" + HOST + b"Content-Length: 99\r\n\r\n{"],
    ids=["idle", "headers", "body"],
)
def test_the_longest_waiting_gives_way(shop: Catalogue, live: Callable[..., str], first: bytes) -> None:
    port = urlsplit(live(shop, Settings(max_connections=8, idle_limit=60.0, time_limit=60.0))).port
    with ExitStack() as stack:

        def connect(data: bytes) -> socket.socket:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            connection.sendall(data)
            time.sleep(0.05)
            return connection

        waiting = [connect(first) for _ in range(8)]
        assert all(map(is_open, waiting))
        assert connect(HEALTH).recv(65536).startswith(b"HTTP/1.1 200")
        assert all_of(waiting[0]) == b""
        assert all(map(is_open, waiting[1:]))


def test_an_answer_that_is_not_read_is_given_up(shop: Catalogue, live: Callable[..., str]) -> None:
    """And one that is read slowly but steadily is not."""
    port = urlsplit(live(shop, Settings(idle_limit=IDLE))).port
    body = json.dumps({"vectors": [[1.0] * 12] * 500, "k": 200}).encode()
    request = b"POST /search" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body

    def ask() -> socket.socket:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(10)
        connection.connect(("127.0.0.1", port))
        connection.sendall(request)
        return connection

    with ask() as stalled, ask() as slow:
        data = slow.recv(4096)
        size = int(data.partition(b"content-length: ")[2].split(b"\r\n")[0]) + data.index(b"\r\n\r\n") + 4
        received, start = len(data), time.monotonic()
        while received < size:
            part = slow.recv(2**16)
            assert part, "a client that reads was cut off"
            received += len(part)
            time.sleep(0.002)
        assert time.monotonic() - start > 2 * IDLE
        assert len(all_of(stalled)) < size


def test_if_all_are_served_a_new_one_is_refused(
    shop: Catalogue, live: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock of the index is held, so that searches by id take as long as the test wants."""
    port = urlsplit(live(shop, Settings(max_connections=3, n_threads=1))).port
    body = b'{"id": "item/3"}'
    request = b"POST /search" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with ExitStack() as stack:
        busy = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)) for _ in range(3)]
        with shop.engines[0].index._writing:
            for each in busy:
                each.sendall(request)
            time.sleep(0.3)
            refused = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            answer = all_of(refused)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"too many connections" in answer
        for each in busy:
            assert each.recv(65536).startswith(b"HTTP/1.1 200")
