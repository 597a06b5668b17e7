"""Bodies that are being received: if they are too many bytes together, the largest is given up, not a small one."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from thpi.web import Catalogue, Settings

SMALL = b'{"id": "item/3"}'


def head(size: int) -> bytes:
    return b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % size


@pytest.fixture(scope="module")
def port(shop: Catalogue, live: Callable[..., str]) -> int:
    return int(urlsplit(live(shop, Settings(max_body=100_000, time_limit=5.0))).port or 0)


def test_the_largest_of_too_many_bodies_is_given_up(port: int) -> None:
    with ExitStack() as stack:

        def send(data: bytes) -> socket.socket:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            connection.sendall(data)
            time.sleep(0.1)
            return connection

        large = send(head(100_000) + b" " * 99_999)
        others = [send(head(100_000) + b" " * 90_000) for _ in range(3)]
        send(head(100_000) + b" " * 20_000)  # 389,999 of 400,000 bytes
        assert send(head(len(SMALL)) + SMALL).recv(65536).startswith(b"HTTP/1.1 200")
        last = send(head(100_000) + b" " * 50_000)
        answer = large.recv(65536)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert "too many bytes" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        last.sendall(b" " * (50_000 - len(SMALL)) + SMALL)
        assert last.recv(65536).startswith(b"HTTP/1.1 200")
        for each in others:
            each.sendall(b" " * (10_000 - len(SMALL)) + SMALL)
            assert each.recv(65536).startswith(b"HTTP/1.1 200")


def test_bodies_that_wait_for_their_turn_count(port: int, shop: Catalogue) -> None:
    data = head(90_000) + b" " * (90_000 - len(SMALL)) + SMALL
    with ExitStack() as stack:
        index = shop.engines[0].index
        with index._writing:  # searches by id stand still
            asked = []
            for _ in range(10):
                asked.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)))
                asked[-1].sendall(data)
                time.sleep(0.1)
        statuses = [each.recv(65536)[9:12] for each in asked]
    # Two are being worked on, and four wait.
    assert sorted(statuses) == [b"200"] * 6 + [b"503"] * 4
