"""Does the server keep up with the index?  ``python -m benchmarks.serve_load [--only PATTERN] [--output FILE]``

Starts ``thpi serve`` as a process of its own on loopback and sends it searches by vector over 64 connections. Every
answer is checked for its status and its number of neighbours, one in a thousand against the index itself. In turn with
these rounds the index in this process codes and searches the same vectors in batches of 64: the ratio is that of both
throughputs, the median over the rounds. Then one connection alone, in turn with the bare call.

The processor time of a search, of server, clients and bare index, says what limits on a machine that is not idle. The
clients take a part of the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._load import Client, Codes, Load, Server, serving
from benchmarks._machine import machine_line, measured_peaks
from benchmarks._table import lined_up, markdown, put_between_markers
from thpi.index import Order

BATCH = 64
ROUNDS = 5
ALONE = 500
K = 10
HEADER = ["server", "what", "measured", "target", "met"]


@dataclass(frozen=True)
class Setup:
    """What is served, and how it is asked."""

    name: str
    order: Order = "asymmetric"
    content: str = "json"
    workers: int = 1
    recall: float | None = None


SETUPS = (
    Setup("asymmetric order, JSON"),
    Setup("asymmetric order, bytes", content="bytes"),
    Setup("Hamming order, JSON", order="hamming"),
    Setup("Hamming order, bytes", order="hamming", content="bytes"),
    Setup("Hamming order, bytes, 2 workers", order="hamming", content="bytes", workers=2),
    Setup("recall 0.95, clustered codes, asymmetric order, bytes", content="bytes", recall=0.95),
    Setup("recall 0.95, clustered codes, Hamming order, bytes", order="hamming", content="bytes", recall=0.95),
    Setup("the same, asymmetric order, 2 workers", content="bytes", workers=2, recall=0.95),
    Setup("the same, Hamming order, 2 workers", order="hamming", content="bytes", workers=2, recall=0.95),
)
MEMORY = Setup("10,000 codes, JSON")


def verdict(setup: Setup, what: str, measured: str, target: str, met: bool) -> list[str]:
    return [setup.name, what, measured, target, "yes" if met else "NO"]


def crowd(setup: Setup, load: Load, server: Server, n: int, connections: int) -> list[list[str]]:
    """Measure many connections beside the bare index."""
    asyncio.run(load.send(server.port, range(min(n, 10 * BATCH)), connections))
    seconds: list[float] = []
    errors, ratios, rates, processor = 0, list[float](), list[float](), list[tuple[float, ...]]()
    size = n // ROUNDS
    for start in range(0, size * ROUNDS, size):
        begin, own, theirs = time.perf_counter(), time.process_time(), server.seconds()
        some, wrong = asyncio.run(load.send(server.port, range(start, start + size), connections))
        rate = size / (time.perf_counter() - begin)
        spent = (server.seconds() - theirs) / size, (time.process_time() - own) / size
        m = min(size, 20 * BATCH)
        begin, own = time.perf_counter(), time.process_time()
        for place in range(start, start + m, BATCH):
            load.bare(place, min(place + BATCH, start + m))
        bare = m / (time.perf_counter() - begin)
        processor.append((*spent, (time.process_time() - own) / m))
        print(f"  {rate:.0f} searches/s over HTTP, {bare:.0f} by the index in batches of {BATCH}", flush=True)
        seconds += some
        errors += wrong
        rates.append(rate)
        ratios.append(rate / bare)
    ratio, rate = float(np.median(ratios)), float(np.median(rates))
    p50, p99 = (1000 * np.percentile(seconds, [50, 99])).tolist()
    times = "server {:.2f}, clients {:.2f}, bare index {:.2f} ms".format(*1000 * np.median(processor, axis=0))
    rows = [
        verdict(setup, "errors", f"{errors} of {len(seconds):,}", "0", errors == 0),
        [setup.name, "processor time of a search", times, "", ""],
        verdict(setup, "p99 / p50", f"{p99:.0f} / {p50:.0f} ms = {p99 / p50:.1f}", "<= 3", p99 <= 3 * p50),
    ]
    if setup.recall is None:
        shown = f"{rate:.0f}/s, ratio {ratio:.2f}"
        rows.insert(1, verdict(setup, "throughput / bare index", shown, ">= 0.6", ratio >= 0.6))
    else:
        shown = f"{rate:.0f}/s, ratio {ratio:.2f}"
        rows.insert(1, verdict(setup, "throughput", shown, ">= 2,000/s on two cores", rate >= 2000))
    return rows


async def alone(setup: Setup, load: Load, server: Server) -> list[str]:
    """Measure one connection in turn with the bare call: both see the same machine."""
    requests, calls = [], []
    async with Client(server.port, load.head) as client:
        for place, body in enumerate(load.bodies[:ALONE]):
            start = time.perf_counter()
            await client.search(body)
            between = time.perf_counter()
            load.bare(place, place + 1)
            requests.append(between - start)
            calls.append(time.perf_counter() - between)
    request, call = 1000 * float(np.median(requests)), 1000 * float(np.median(calls))
    most = 1.3 * call + 1
    return verdict(
        setup, "lone request", f"{request:.2f} ms", f"<= 1.3 x {call:.2f} + 1 = {most:.2f} ms", request <= most
    )


def memory(setup: Setup, n: int, connections: int, seed: int) -> list[str]:
    """Measure whether many requests leave something behind."""
    codes = Codes(10_000, 64, 1000, setup.recall, clustered=False, seed=seed)
    load = Load(codes, K, setup.order, setup.content == "json")
    with serving(codes, setup.workers) as server:
        asyncio.run(load.send(server.port, range(n // 10), connections))
        before = server.megabytes()
        _, errors = asyncio.run(load.send(server.port, range(n), connections))
        after = server.megabytes()
    shown = f"{before:.0f} MB, then {after:.0f} MB; {errors} errors"
    return verdict(setup, f"memory over {n:,} requests", shown, "+ 2 %", after <= 1.02 * before and not errors)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codes", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--searches", type=int, default=20_000, help="of each server")
    parser.add_argument("--requests", type=int, default=100_000, help="while memory is watched")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--only", default="", metavar="PATTERN", help="servers whose name contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, metavar="FILE", help="put the table between the markers of this file")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server ends with this process
    rows: list[list[str]] = []
    made: tuple[float | None, Codes] | None = None
    for setup in (each for each in SETUPS if options.only.lower() in each.name.lower()):
        print(setup.name, flush=True)
        if made is None or made[0] != setup.recall:
            made = None  # the old codes go before the new ones come
            clustered = setup.recall is not None
            made = (
                setup.recall,
                Codes(options.codes, options.bits, options.searches, setup.recall, clustered, options.seed),
            )
        load = Load(made[1], K, setup.order, setup.content == "json")
        with serving(made[1], setup.workers) as server:
            rows += crowd(setup, load, server, options.searches, options.connections)
            if setup.workers == 1:
                rows.append(asyncio.run(alone(setup, load, server)))
    if options.only.lower() in MEMORY.name.lower():
        print(MEMORY.name, flush=True)
        rows.append(memory(MEMORY, options.requests, options.connections, options.seed))
    print("\n" + lined_up(HEADER, rows))
    if options.output is not None:
        about = f"{options.codes:,} codes of {options.bits} bits, k = {K}, {options.searches:,} searches over"
        about += f" {options.connections} connections; {os.cpu_count()} cores for server and clients together."
        parts = ["## Server under load: `python -m benchmarks.serve_load`", machine_line(measured_peaks([1, 2]))]
        put_between_markers(options.output, "\n\n".join([*parts, about, markdown(HEADER, rows)]), "server")
    return int(any(row[1] == "errors" and row[-1] != "yes" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
