"""Clients that hold connections and do not use them: does the server go on answering others, and how long is its log?

1,030 connections to a server that may open 1,024 files: idle, with slow headers, with slow bodies, with a body that was
not asked for, and with answers that nobody reads. Small searches are sent all the while; they may wait for the idle
limit, but must be answered.
"""

from __future__ import annotations

import json
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.attack._outcome import Outcome
from benchmarks.attack._server import N_FEATURES, Server, allow_many_files, make_shop, serving

FILES = 1024
IDLE_LIMIT = 3
HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
KINDS = {  # the first bytes of a connection, and those that follow again and again
    "idle connections": (b"", b""),
    "slow headers": (b"GET /health" + HOST, b"X-a: b\r\n"),
    "slow bodies": (b"POST /search" + HOST + b"Content-Length: 100000\r\n\r\n{", b" "),
    "bodies nobody asked for": (b"GET /health" + HOST + b"Content-Length: 100000\r\n\r\n", b" "),
    "nonsense": (b"\x16\x03\x01\x02\x00\x01", b"\x00"),
}
UNREAD = "answers nobody reads"


def hold(server: Server, kind: str, n: int, seconds: float, seed: int = 0) -> Outcome:
    """Hold ``n`` connections for some seconds, and replace those that are closed."""
    outcome = Outcome(f"{kind}, {FILES} open files", n)
    first, drip = KINDS[kind] if kind in KINDS else (_large_search(seed), b"G")
    with server.connect(60) as connection:  # the first search takes longer
        connection.sendall(_large_search(seed))
        connection.recv(1)
    held: list[socket.socket] = []
    slowest, deadline = 0.0, time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            held = [each for each in held if _goes_on(each, drip)]
            outcome.counts["connections"] += n - len(held)
            held += [_open(server, first) for _ in range(n - len(held))]
            for _ in range(5):
                try:
                    slowest = max(slowest, server.seconds_to_answer())
                    outcome.counts["answered"] += 1
                except (OSError, AssertionError) as error:
                    if "503" in str(error):  # a loaded machine: refused at once, and in words
                        outcome.counts["busy"] += 1
                        continue
                    outcome.counts["not answered"] += 1
                    outcome.wrong.append(f"a small search: {error}")
                time.sleep(0.1)
    finally:
        for each in held:
            each.close()
    outcome.counts["slowest answer, ms"] = round(1000 * slowest)
    return outcome


def _open(server: Server, first: bytes) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(10)
    connection.connect(("127.0.0.1", server.port))
    with suppress(OSError):
        connection.sendall(first)
    connection.setblocking(False)
    return connection


def _goes_on(connection: socket.socket, drip: bytes) -> bool:
    """Send a little more; False, and closed here too, if the server has closed the connection."""
    try:
        if drip:
            connection.send(drip)
        elif connection.recv(1, socket.MSG_PEEK) == b"":
            raise ConnectionResetError
    except BlockingIOError:
        pass
    except OSError:
        connection.close()
        return False
    return True


def _large_search(seed: int) -> bytes:
    X = np.random.RandomState(seed).standard_normal((20, N_FEATURES)).round(2)
    body = json.dumps({"vectors": X.tolist(), "k": 1000}).encode()
    return b"POST /search" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body


def closed_in_time(server: Server) -> Outcome:
    """Hold one connection of each kind, and see when the server closes it."""
    outcome = Outcome("connections that wait", len(KINDS))
    for kind, (first, drip) in KINDS.items():
        connection, start = _open(server, first), time.monotonic()
        while _goes_on(connection, drip) and time.monotonic() < start + 4 * IDLE_LIMIT:
            with suppress(BlockingIOError):
                connection.recv(65536)
            time.sleep(0.1)
        seconds = time.monotonic() - start
        outcome.counts["closed"] += seconds < 4 * IDLE_LIMIT
        outcome.demand(seconds < 4 * IDLE_LIMIT, f"{kind}: open after {seconds:.0f} s")
    return outcome


def attack(scale: float, seed: int, n: int = 1030) -> Iterator[Outcome]:
    """Hold ``n`` connections of each kind, for a minute each at scale 1."""
    allow_many_files()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_shop(folder, 2000)
        options = ("--idle-limit", str(IDLE_LIMIT), "--time-limit", str(2 * IDLE_LIMIT))
        for kind in (*KINDS, UNREAD):
            with serving(folder, *options, open_files=FILES) as server:
                outcome = hold(server, kind, n if kind != UNREAD else n // 50, max(3.0, 60 * scale), seed)
                server.watch()
                outcome.counts["most files"] = server.files
                outcome.counts["MB"] = server.rss >> 20
                outcome.counts["log bytes"] = server.log.stat().st_size
                outcome.demand(server.log.stat().st_size < 20_000, "the log is long")
                outcome.demand(server.rss < 2**30, f"{server.rss >> 20} MB of memory")
                yield outcome
        with serving(folder, *options) as server:
            yield closed_in_time(server)
