"""Searches sent to a server of its own process over many connections, and the same searches by the bare index."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import thpi
from thpi._types import Array
from thpi.collection import write
from thpi.index import HammingIndex, Neighbours, Order

__all__ = ["Client", "Codes", "Load", "Server", "serving"]

_FEATURES = 64
_A_CLUSTER = 500  # rows
_NOISE = 0.4  # changes one bit in eight


class Client:
    """One connection that is kept: just enough HTTP to measure the server and not a library for clients."""

    def __init__(self, port: int, head: str) -> None:
        self.port, self.head = port, head

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def search(self, body: bytes) -> tuple[int, bytes]:
        self.writer.write(f"{self.head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        headers = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", headers, re.IGNORECASE)
        assert length is not None
        return int(headers[9:12]), await self.reader.readexactly(int(length.group(1)))


class Codes:
    """An index of made-up rows and queries like them: uniform, or in clusters as those of real data."""

    def __init__(self, n: int, n_bits: int, n_queries: int, recall: float | None, clustered: bool, seed: int) -> None:
        rng = np.random.RandomState(seed)
        centres = rng.standard_normal((max(1, n // _A_CLUSTER), _FEATURES))

        def draw(size: int) -> Array:
            rows = rng.standard_normal((size, _FEATURES))
            return centres[rng.randint(len(centres), size=size)] + _NOISE * rows if clustered else rows

        self.hasher = thpi.LSH(n_bits=n_bits, random_state=seed).fit(draw(1000))
        self.index = HammingIndex(n_bits, recall, model=self.hasher.fingerprint_)
        for start in range(0, n, 100_000):
            self.index.add(self.hasher.transform(draw(min(100_000, n - start))))
        self.queries = draw(n_queries).astype(np.float32)
        if recall is not None:
            print(self.index.tune(10, queries=self.hasher.decision_function(draw(500))), flush=True)
        self.index.warm_up()


@dataclass
class Load:
    """What is asked, in which form, and what the index itself answers."""

    codes: Codes
    k: int
    order: Order
    is_json: bool

    def __post_init__(self) -> None:
        if self.is_json:
            asked = {"k": self.k, "order": self.order}
            self.bodies = [json.dumps({"vector": row, **asked}).encode() for row in self.codes.queries.tolist()]
            where, kind = "/search", "application/json"
        else:
            self.bodies = [row.astype("<f4").tobytes() for row in self.codes.queries]
            where, kind = f"/search?k={self.k}&order={self.order}", "application/octet-stream"
        self.head = f"POST {where} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nAccept: {kind}\r\n"

    def bare(self, start: int, stop: int) -> Neighbours:
        """Code and search some of the queries in this process."""
        rows = self.codes.queries[start:stop].astype(np.float64)
        return self.codes.index.search(self.codes.hasher.decision_function(rows), self.k, order=self.order)

    def agrees(self, answer: bytes, place: int) -> bool:
        """Whether ids and distances are those of the index; an approximate one may find others."""
        if self.codes.index.recall is not None:
            return self.complete(answer)
        found = self.bare(place, place + 1)
        if self.is_json:
            neighbours: list[dict[str, Any]] = json.loads(answer)["results"][0]["neighbours"]
            ids, distances = ([each[name] for each in neighbours] for name in ("id", "distance"))
        else:
            ids = np.frombuffer(answer[: 8 * self.k], dtype="<i8").tolist()
            distances = np.frombuffer(answer[8 * self.k :], dtype="<f4").tolist()
        return bool(np.allclose(distances, found.distances[0], rtol=1e-5) and ids == found.ids[0].tolist())

    def complete(self, answer: bytes) -> bool:
        """Whether an answer has as many neighbours as asked for."""
        return bool(answer.count(b'"distance"') == self.k if self.is_json else len(answer) == 12 * self.k)

    async def send(self, port: int, places: range, connections: int) -> tuple[list[float], int]:
        """Send searches, each connection the next one when the last was answered; return their seconds and errors."""
        left = iter(places)
        seconds: list[float] = []
        kept: dict[int, bytes] = {}
        errors = 0

        async def worker() -> None:
            nonlocal errors
            async with Client(port, self.head) as client:
                for place in left:
                    start = time.perf_counter()
                    status, answer = await client.search(self.bodies[place % len(self.bodies)])
                    seconds.append(time.perf_counter() - start)
                    if status != 200 or not self.complete(answer):
                        errors += 1
                    elif place % 1000 == 0:
                        kept[place] = answer

        await asyncio.gather(*(worker() for _ in range(connections)))
        return seconds, errors + sum(not self.agrees(each, place % len(self.bodies)) for place, each in kept.items())


class Server:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = psutil.Process(process.pid), port

    def all(self) -> list[psutil.Process]:
        """Return its processes."""
        return [self.process, *self.process.children(recursive=True)]

    def seconds(self) -> float:
        """Return the processor time that it has taken."""
        return float(sum(times.user + times.system for times in (each.cpu_times() for each in self.all())))

    def megabytes(self) -> float:
        """Return its memory, shared pages counted once."""
        return sum(float(each.memory_full_info().pss) for each in self.all()) / 2**20


@contextmanager
def serving(codes: Codes, workers: int) -> Iterator[Server]:
    """Serve the codes as a collection by ``thpi serve``."""
    with tempfile.TemporaryDirectory() as name:
        index, path = codes.index, Path(name) / "load.thpi"
        write(path, codes.hasher, index.codes, index.ids, about={"recall": index.recall})
        command = [sys.executable, "-m", "thpi", "serve", str(path), "--port", "0"]
        command += ["--time-limit", "60", "--workers", str(workers)]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert process.stdout is not None
            port = re.search(r":(\d+)$", process.stdout.readline().strip())
            if port is None:
                raise RuntimeError("the server did not say its port")
            yield Server(process, int(port.group(1)))
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(60)
        if code:
            raise RuntimeError(f"the server ended with exit code {code}")
