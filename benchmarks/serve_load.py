"""How fast does the server search, and what does it add to the bare call of the index?

    python benchmarks/serve_load.py [--codes 1000000] [--bits 64] [--searches 20000] [--connections 64] [--k 10]

Starts ``thpi serve`` as a process of its own on loopback, over random codes, and sends it searches by vector over as
many connections as asked for, each sending the next search when the last was answered. Every answer is checked for its
status and its number of neighbours, one in a hundred against the index itself. Then one connection alone, for the
overhead without waiting: the time of a request over that of the same call in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import thpi
from thpi.index import HammingIndex, Neighbours

FEATURES = 64
ALONE = 500


class Client:
    """One connection that is kept: just enough HTTP to measure the server and not a library for clients."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def search(self, body: bytes) -> tuple[int, bytes]:
        head = (
            f"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        )
        self.writer.write(head.encode() + b"\r\n\r\n" + body)
        headers = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", headers, re.IGNORECASE)
        assert length is not None
        return int(headers[9:12]), await self.reader.readexactly(int(length.group(1)))


async def run_load(
    port: int, bodies: list[bytes], connections: int, k: int
) -> tuple[np.ndarray, int, dict[int, bytes]]:
    """Return the time of each search, the number of errors, and some answers."""
    places = iter(range(len(bodies)))
    seconds = np.zeros(len(bodies))
    errors, kept = 0, {}

    async def worker() -> None:
        nonlocal errors
        async with Client(port) as client:
            for place in places:
                start = time.perf_counter()
                status, answer = await client.search(bodies[place])
                seconds[place] = time.perf_counter() - start
                if status != 200 or answer.count(b'"distance"') != k:
                    errors += 1
                if place % 100 == 0:
                    kept[place] = answer

    await asyncio.gather(*(worker() for _ in range(connections)))
    return seconds, errors, kept


def start_server(folder: Path, hasher: thpi.BaseHasher, index: HammingIndex) -> tuple[subprocess.Popen[str], int]:
    hasher.save(folder / "load.thpi")
    index.save(folder / "load.index")
    command = [sys.executable, "-c", "from thpi.cli import main; main()", "serve", "--port", "0"]
    command += ["--model", str(folder / "load.thpi"), "--index", str(folder / "load.index"), "--time-limit", "60"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    port = re.search(r":(\d+)$", server.stdout.readline().strip())
    if port is None:
        server.kill()
        raise RuntimeError("the server did not say its port")
    return server, int(port.group(1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codes", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--searches", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.RandomState(options.seed)
    hasher = thpi.LSH(n_bits=options.bits, random_state=options.seed).fit(rng.standard_normal((1000, FEATURES)))
    index = HammingIndex(options.bits, model=hasher.fingerprint_)
    for start in range(0, options.codes, 100_000):
        index.add(hasher.transform(rng.standard_normal((min(100_000, options.codes - start), FEATURES))))
    queries = rng.standard_normal((options.searches, FEATURES)).round(6)
    bodies = [json.dumps({"vector": query.tolist(), "k": options.k}).encode() for query in queries]

    def bare(place: int) -> Neighbours:
        return index.search(hasher.transform(queries[place : place + 1]), options.k)

    alone = min(ALONE, options.searches)
    with tempfile.TemporaryDirectory() as folder:
        server, port = start_server(Path(folder), hasher, index)
        try:
            begin = time.perf_counter()
            seconds, errors, kept = asyncio.run(run_load(port, bodies, options.connections, options.k))
            total = time.perf_counter() - begin
            single, bare_seconds = _side_by_side(port, bodies[:alone], bare)
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(60)
    wrong = sum(not _agrees(json.loads(answer), bare(place)) for place, answer in kept.items())
    p50, p99 = 1000 * np.percentile(seconds, [50, 99])
    print(
        f"{options.codes:,} codes of {options.bits} bits, k={options.k}; {os.cpu_count()} cores for server and clients"
    )
    print(f"{options.searches:,} searches over {options.connections} connections: {errors} errors, exit code {code}")
    print(f"{len(kept)} answers compared with the index: {wrong} differ")
    print(f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, {options.searches / total:.0f} searches per second")
    a, b = 1000 * np.median(single), 1000 * np.median(bare_seconds)
    print(f"one connection, median of {alone}: request {a:.2f} ms, bare call {b:.2f} ms, overhead {a - b:.2f} ms")
    return int(errors + wrong + code != 0)


def _side_by_side(port: int, bodies: list[bytes], bare: Callable[[int], Neighbours]) -> tuple[list[float], list[float]]:
    """Alternate a request and the bare call, so that both see the same machine."""

    async def measure() -> tuple[list[float], list[float]]:
        requests, calls = [], []
        async with Client(port) as client:
            for place, body in enumerate(bodies):
                start = time.perf_counter()
                await client.search(body)
                between = time.perf_counter()
                bare(place)
                requests.append(between - start)
                calls.append(time.perf_counter() - between)
        return requests, calls

    return asyncio.run(measure())


def _agrees(answer: dict[str, Any], found: Neighbours) -> bool:
    neighbours = answer["results"][0]["neighbours"]
    ids: list[int] = found.ids[0].tolist()
    distances: list[int] = found.distances[0].tolist()
    return [n["id"] for n in neighbours] == ids and [n["distance"] for n in neighbours] == distances


if __name__ == "__main__":
    sys.exit(main())
