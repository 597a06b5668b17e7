"""How fast does the server search, and what does it add to the bare call of the index?

    python benchmarks/serve_load.py [--codes 1000000] [--bits 64] [--searches 20000] [--connections 64] [--k 10]
        [--order asymmetric] [--content json] [--workers 1] [--recall 0.95]

Starts ``thpi serve`` as a process of its own on loopback, over random codes, and sends it searches by vector over as
many connections as asked for, each sending the next search when the last was answered. Every answer is checked for its
status and its number of neighbours, one in a hundred against the index itself. In turn with these rounds, the index in
this process codes and searches the same vectors in batches of 64: the ratio is that of both throughputs. On a machine
that is not idle the processor time of a search says more: that of the server, of the clients and of the index. Then one
connection alone, for the overhead without waiting: the time of a request beside that of the same call in this process.
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
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import thpi
from thpi.index import HammingIndex, Neighbours

FEATURES = 64
ALONE = 500
TOGETHER = 64
ROUNDS = 5


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


class Load:
    """What is asked, in which form, and what the index itself answers."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.k, self.order, self.is_json = options.k, options.order, options.content == "json"
        rng = np.random.RandomState(options.seed)
        self.hasher = thpi.LSH(n_bits=options.bits, random_state=options.seed).fit(
            rng.standard_normal((1000, FEATURES))
        )
        self.index = HammingIndex(options.bits, options.recall, model=self.hasher.fingerprint_)
        for start in range(0, options.codes, 100_000):
            rows = rng.standard_normal((min(100_000, options.codes - start), FEATURES))
            self.index.add(self.hasher.transform(rows))
        if options.recall is not None:
            print(self.index.tune(options.k))
        self.queries = rng.standard_normal((options.searches, FEATURES)).astype(np.float32)
        choices = {"k": self.k, "order": self.order}
        if self.is_json:
            self.bodies = [json.dumps({"vector": row, **choices}).encode() for row in self.queries.tolist()]
            where, kind = "/search", "application/json"
        else:
            self.bodies = [row.astype("<f4").tobytes() for row in self.queries]
            where, kind = f"/search?k={self.k}&order={self.order}", "application/octet-stream"
        self.head = f"POST {where} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nAccept: {kind}\r\n"

    def bare(self, start: int, stop: int) -> Neighbours:
        rows = self.queries[start:stop].astype(np.float64)
        return self.index.search(self.hasher.decision_function(rows), self.k, order=self.order)

    def agrees(self, answer: bytes, place: int) -> bool:
        """Whether ids and distances are those of the index; an approximate one may find others."""
        found = self.bare(place, place + 1)
        if self.is_json:
            neighbours: list[dict[str, Any]] = json.loads(answer)["results"][0]["neighbours"]
            ids, distances = ([each[name] for each in neighbours] for name in ("id", "distance"))
        else:
            ids = np.frombuffer(answer[: 8 * self.k], dtype="<i8").tolist()
            distances = np.frombuffer(answer[8 * self.k :], dtype="<f4").tolist()
        same = np.allclose(distances, found.distances[0], rtol=1e-5)
        return bool(same and (ids == found.ids[0].tolist() or self.index.recall is not None))

    def complete(self, answer: bytes) -> bool:
        return bool(answer.count(b'"distance"') == self.k if self.is_json else len(answer) == 12 * self.k)


async def run_load(port: int, load: Load, places: range, connections: int) -> tuple[list[float], int, dict[int, bytes]]:
    """Return the time of each search, the number of errors, and some answers."""
    left = iter(places)
    seconds: list[float] = []
    errors, kept = 0, {}

    async def worker() -> None:
        nonlocal errors
        async with Client(port, load.head) as client:
            for place in left:
                start = time.perf_counter()
                status, answer = await client.search(load.bodies[place])
                seconds.append(time.perf_counter() - start)
                if status != 200 or not load.complete(answer):
                    errors += 1
                elif place % 100 == 0:
                    kept[place] = answer

    await asyncio.gather(*(worker() for _ in range(connections)))
    return seconds, errors, kept


def start_server(folder: Path, load: Load, workers: int) -> tuple[subprocess.Popen[str], int]:
    load.hasher.save(folder / "load.thpi")
    load.index.save(folder / "load.index")
    command = [sys.executable, "-c", "from thpi.cli import main; main()", "serve", "--port", "0"]
    command += ["--model", str(folder / "load.thpi"), "--index", str(folder / "load.index"), "--time-limit", "60"]
    command += ["--workers", str(workers)] if workers > 1 else []
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert server.stdout is not None
    port = re.search(r":(\d+)$", server.stdout.readline().strip())
    if port is None:
        server.kill()
        raise RuntimeError("the server did not say its port")
    return server, int(port.group(1))


def memory(server: subprocess.Popen[str]) -> float:
    """Megabytes of the server and its workers, shared pages counted once."""
    process = psutil.Process(server.pid)
    return sum(float(each.memory_full_info().pss) for each in (process, *process.children(recursive=True))) / 2**20


class Rounds:
    """Loads of the server and searches of the bare index, in turn."""

    def __init__(self, server: subprocess.Popen[str], port: int, load: Load, connections: int) -> None:
        self.server, self.port, self.load, self.connections = psutil.Process(server.pid), port, load, connections
        self.seconds: list[float] = []
        self.kept: dict[int, bytes] = {}
        self.errors, self.ratios, self.processor = 0, list[float](), list[tuple[float, float, float]]()

    def run(self) -> None:
        size = len(self.load.bodies) // ROUNDS
        for start in range(0, size * ROUNDS, size):
            begin, own, theirs = time.perf_counter(), time.process_time(), self.server_seconds()
            places = range(start, start + size)
            seconds, errors, kept = asyncio.run(run_load(self.port, self.load, places, self.connections))
            served, own, theirs = (
                size / (time.perf_counter() - begin),
                (time.process_time() - own) / size,
                (self.server_seconds() - theirs) / size,
            )
            n = min(size, 10 * TOGETHER)
            begin, alone = time.perf_counter(), time.process_time()
            for place in range(start, start + n, TOGETHER):
                self.load.bare(place, min(place + TOGETHER, start + n))
            bare, alone = n / (time.perf_counter() - begin), (time.process_time() - alone) / n
            print(f"  {served:.0f} searches/s over HTTP, {bare:.0f} by the index in batches of {TOGETHER}", flush=True)
            self.seconds += seconds
            self.errors += errors
            self.kept |= kept
            self.ratios.append(served / bare)
            self.processor.append((1000 * theirs, 1000 * own, 1000 * alone))

    def server_seconds(self) -> float:
        each = (process.cpu_times() for process in (self.server, *self.server.children()))
        return float(sum(times.user + times.system for times in each))


async def side_by_side(port: int, load: Load, n: int) -> tuple[float, float]:
    """Medians of a request and of the bare call, in milliseconds, in turn: both see the same machine."""
    requests, calls = [], []
    async with Client(port, load.head) as client:
        for place, body in enumerate(load.bodies[:n]):
            start = time.perf_counter()
            await client.search(body)
            between = time.perf_counter()
            load.bare(place, place + 1)
            requests.append(between - start)
            calls.append(time.perf_counter() - between)
    return 1000 * float(np.median(requests)), 1000 * float(np.median(calls))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codes", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--searches", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--order", choices=["asymmetric", "hamming"], default="asymmetric")
    parser.add_argument("--content", choices=["json", "bytes"], default="json")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--recall", type=float)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    load = Load(options)
    load.index.warm_up()
    with tempfile.TemporaryDirectory() as folder:
        server, port = start_server(Path(folder), load, options.workers)
        try:
            asyncio.run(run_load(port, load, range(min(500, len(load.bodies))), options.connections))
            before, rounds = memory(server), Rounds(server, port, load, options.connections)
            rounds.run()
            after = memory(server)
            request, call = asyncio.run(side_by_side(port, load, min(ALONE, options.searches)))
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(60)
    wrong = sum(not load.agrees(answer, place) for place, answer in rounds.kept.items())
    p50, p99 = 1000 * np.percentile(rounds.seconds, [50, 99])
    theirs, own, alone = np.median(rounds.processor, axis=0)
    about = f"{options.codes:,} codes of {options.bits} bits, k={options.k}, {options.order} order, {options.content}"
    print(f"{about}, {options.workers} workers; {os.cpu_count()} cores for server and clients")
    searched = f"{len(rounds.seconds):,} searches over {options.connections} connections"
    print(f"{searched}: {rounds.errors} errors, exit code {code}")
    print(f"{len(rounds.kept)} answers compared with the index: {wrong} differ")
    print(f"throughput over that of the index in batches of {TOGETHER}: {np.median(rounds.ratios):.2f}")
    print(f"processor time of a search: server {theirs:.2f} ms, clients {own:.2f} ms, bare index {alone:.2f} ms")
    print(f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, ratio {p99 / p50:.1f}; memory {before:.0f} MB, then {after:.0f} MB")
    print(
        f"one connection: request {request:.2f} ms, bare call {call:.2f} ms; "
        f"request less 1.3 calls {request - 1.3 * call:.2f} ms"
    )
    return int(rounds.errors + wrong + code != 0)


if __name__ == "__main__":
    sys.exit(main())
