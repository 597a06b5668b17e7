"""A real ``thpi serve`` to attack: a process with its own limit of open files, its memory, threads and log in view."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import thpi
from thpi.collection import Details, write

N_FEATURES = 16


class Server:
    """A server that runs. ``rss`` and ``threads`` are the largest values seen."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log
        self.rss = self.threads = self.files = 0
        self._seen = psutil.Process(process.pid)

    @property
    def workers(self) -> list[psutil.Process]:
        """The processes that answer; none after the end."""
        with suppress(psutil.NoSuchProcess):
            return [each for each in self._seen.children() if "spawn_main" in " ".join(each.cmdline())]
        return []

    def watch(self) -> None:
        """Look at memory, threads and files of the workers now."""
        workers = self.workers
        self.rss = max(self.rss, sum(each.memory_info().rss for each in workers))
        self.threads = max([self.threads, *(each.num_threads() for each in workers)])
        self.files = max([self.files, *(each.num_fds() for each in workers)])

    def connect(self, timeout: float = 30) -> socket.socket:
        """Open a connection that sends nothing yet."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def ask(self, path: str, body: Any = None, timeout: float = 30, **headers: str) -> tuple[int, bytes]:
        """Send a request, and return the status and the content of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = json.dumps(body) if isinstance(body, dict) else body
            connection.request("GET" if body is None else "POST", path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def seconds_to_answer(self) -> float:
        """Return how long a small search takes now."""
        start = time.monotonic()
        status, _ = self.ask("/search", {"id": 3, "k": 5})
        if status != 200:
            raise AssertionError(f"a small search was answered by {status}")
        return time.monotonic() - start


def make_shop(folder: Path, n_items: int) -> None:
    """Write a collection of ``n_items`` random codes of 64 bits, shop.thpi; the first items have texts and pictures."""
    rng = np.random.RandomState(0)
    hasher = thpi.LSH(n_bits=64, random_state=0).fit(rng.standard_normal((100, N_FEATURES)))
    codes = rng.randint(256, size=(n_items, 8), dtype=np.uint8)
    details = {item: Details(f"item {item}", b"RIFF\0\0\0\0WEBP" + bytes(50)) for item in range(min(n_items, 100))}
    write(folder / "shop.thpi", hasher, codes, np.arange(n_items), about={}, details=details)


@contextmanager
def serving(folder: Path, *options: str, open_files: int | None = None) -> Iterator[Server]:
    """Serve the shop of a folder; its log is the file ``log``. It is watched four times a second, and killed after."""
    command = [
        sys.executable,
        *os.environ.get("THPI_UV", "-m thpi serve").split(),
        "shop.thpi",
        "--port",
        "0",
        *options,
    ]
    limit = None if open_files is None else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
    environment, done = {**os.environ, "PYTHONUNBUFFERED": "1"}, threading.Event()
    with (
        open(folder / "log", "wb") as log,
        subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, preexec_fn=limit
        ) as process,
    ):
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if not found:
            raise RuntimeError("the server did not start: " + (folder / "log").read_text())
        server = Server(process, int(found.group(1)), folder / "log")
        watching = threading.Thread(target=_watch, args=(server, done))
        watching.start()
        try:
            yield server
        finally:
            done.set()
            watching.join()
            workers = server.workers
            process.kill()
            psutil.wait_procs(workers, timeout=20)  # they see that their parent has gone


def _watch(server: Server, done: threading.Event) -> None:
    while not done.wait(0.25):
        try:
            server.watch()
        except psutil.NoSuchProcess:
            return


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Run calls in one thread each; an exception is a result."""
    results: list[Any] = [None] * len(calls)

    def run(place: int) -> None:
        try:
            results[place] = calls[place]()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def allow_many_files() -> None:
    """Let this process have as many connections as an attack needs."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096 if hard == resource.RLIM_INFINITY else min(hard, 4096), hard))
