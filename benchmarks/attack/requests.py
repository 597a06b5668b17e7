"""Requests that nobody sends by mistake: what does the server answer, and does it go on?

Half of them are right requests of which a part was exchanged: a value, a header, the path, the kind of the body. The
others are bytes that are hardly HTTP. Every one must be answered by a status below 500 or by a closed connection.
"""

from __future__ import annotations

import io
import json
import random
import re
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.attack._outcome import Outcome
from benchmarks.attack._server import N_FEATURES, Server, at_once, make_shop, serving
from benchmarks.attack.craft_files import VALUES

AT_ONCE = 25
ALLOWED = {*map(str, range(100, 500)), "closed"}
TOKEN = "open sesame"
VECTOR = [0.5] * N_FEATURES
BODIES: list[dict[str, Any]] = [
    {"vector": VECTOR, "k": 5},
    {"vectors": [VECTOR, VECTOR], "k": 3, "details": True, "rerank": 10},
    {"id": 3, "k": 4, "include_self": True, "order": "hamming"},
    {"codes": ["00" * 8], "model": "0" * 16, "side": "target"},
    {"ids": [10**6], "vectors": [VECTOR]},
    {"ids": [10**6 + 1], "codes": ["00" * 8], "model": "0" * 16},
]
PATHS = [
    "/search",
    "/items",
    "/about",
    "/health",
    "/metrics",
    "/items/3/picture",
    "/items/nothing",
    "/",
    "/static/page.js",
]
METHODS = ["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH", "BREW"]
KINDS = [
    "application/json",
    "text/csv",
    "application/x-npy",
    "application/octet-stream",
    "",
    "multipart/form-data",
    "x" * 500,
]
PARTS = [
    "%00",
    "..",
    "%2e%2e%2f",
    "\u00ff",
    "'",
    "<script>",
    "?",
    "#",
    "/" * 50,
    "a" * 3000,
    "%",
    "?k=-1",
    "?k=1e9&k=3",
]
HEADERS = [
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip",
    "Content-Length: -1",
    "Content-Length: 99999999999999999999",
    "Expect: 100-continue",
    "Connection: upgrade\r\nUpgrade: websocket",
    "Authorization: Basic x",
    "X: " + "y" * 20_000,
    "Host: evil.example",
    "\x00: \x00",
    "Range: bytes=0-1,5-",
    "Accept-Encoding: gzip;q=nan",
]


def hostile(rng: random.Random) -> bytes:
    """Return the bytes of a request with one or two parts exchanged."""
    method, path, kind = "POST", rng.choice(["/search", "/search", "/items"]), KINDS[0]
    asked = json.loads(json.dumps(rng.choice(BODIES)))
    body, headers = json.dumps(asked).encode(), [f"Authorization: Bearer {TOKEN}", "Connection: close"]
    for what in rng.sample(["value", "path", "method", "header", "body", "npy", "cut"], rng.choice([1, 1, 2])):
        if what == "value":
            name = rng.choice([*asked, "k", "order", "side", "radius", "ids", "codes", "vector", "details"])
            asked[name] = rng.choice([*VALUES, VECTOR[1:], [VECTOR] * 3, [[1.0], [2.0, 3.0]], "\ud800"])
            body = json.dumps(asked).encode()
        elif what == "path":
            path = rng.choice(PATHS) + "".join(rng.sample(PARTS, rng.randrange(3)))
        elif what == "method":
            method = rng.choice(METHODS)
        elif what == "header":
            headers.append(rng.choice(HEADERS))
        elif what == "body":
            kind = rng.choice(KINDS)
            body = rng.choice(
                [rng.randbytes(rng.randrange(2000)), b"[" * 10**5, b"1,2\n" * 500, b"", b"{" * 9, body * 2]
            )
        elif what == "npy":
            kind, body = KINDS[2], _npy(rng)
        else:
            body = body[: rng.randrange(len(body) + 1)]
    head = "\r\n".join(
        [
            f"{method} {path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            *headers,
        ]
    )
    return head.encode("utf-8", "surrogatepass") + b"\r\n\r\n" + body


def _npy(rng: random.Random) -> bytes:
    stream = io.BytesIO()
    shape = tuple(rng.choice([0, 1, 2, N_FEATURES, -1, 2**31, 2**62, 2**70, True]) for _ in range(rng.randrange(4)))
    kind = rng.choice(["<f8", "<f4", ">f8", "|u1", "<f2", "|O", "<U5", "<c16", "|b1", "<M8[s]", "|V9"])
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": rng.random() < 0.5, "shape": shape})
    return stream.getvalue() + rng.randbytes(rng.choice([0, 8, 8 * N_FEATURES, 64 * N_FEATURES]))


def broken(rng: random.Random) -> bytes:
    """Return a request of which bytes were changed, left out or repeated."""
    data = bytearray(hostile(rng))
    for _ in range(rng.choice([1, 3, 20])):
        at = rng.randrange(len(data) + 1)
        data[at : at + rng.choice([0, 1, 1, 10])] = rng.choice([b"", b"\r\n", b"\x00", b"\r\n\r\n", rng.randbytes(3)])
    return bytes(data)


def send(server: Server, data: bytes) -> str:
    """Send bytes, and return the largest status of the answers, or what came instead, when the connection is closed."""
    with server.connect(timeout=20) as connection:
        answer = b""
        try:
            connection.sendall(data)
            while part := connection.recv(65536):
                answer += part
        except ConnectionError:
            pass
        except TimeoutError:
            return "no end"
    return max(re.findall(r"HTTP/1\.1 (\d{3}) ", answer.decode("latin-1")), default="closed")


def attack(scale: float, seed: int) -> Iterator[Outcome]:
    """Send 5,000 requests of each kind at scale 1, to a server whose index may be changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_shop(folder, 2000)
        with serving(folder, "--writable", "--token", TOKEN, "--idle-limit", "0.5", "--time-limit", "2") as server:
            for what, make in (("hostile requests", hostile), ("broken requests", broken)):
                rng = random.Random(seed)
                outcome = Outcome(what, max(30, round(5000 * scale)))
                for start in range(0, outcome.tried, AT_ONCE):
                    sent = [make(rng) for _ in range(min(AT_ONCE, outcome.tried - start))]
                    for data, found in zip(sent, at_once([partial(send, server, each) for each in sent]), strict=True):
                        outcome.counts[str(found)] += 1
                        outcome.demand(str(found) in ALLOWED, f"{found} to {data[:300]!r}")
                outcome.demand(server.ask("/health")[0] == 200, "the server does not answer any more")
                outcome.counts["log bytes"] = server.log.stat().st_size
                yield outcome
