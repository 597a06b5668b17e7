"""``thpi serve --workers``: several processes on one address, which start again, stop together and count together."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from thpi.index import HammingIndex
from thpi.web import Catalogue

pytestmark = pytest.mark.slow
TOKEN = "open sesame"


class Served:
    """A server that was started, its workers, and requests to it."""

    def __init__(self, process: subprocess.Popen[str], port: int, index: Path) -> None:
        self.process, self.port, self.index = process, port, index

    @property
    def workers(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def ask(self, path: str, body: object = None) -> tuple[int, bytes]:
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        head += (
            f"Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(head.encode() + data)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        return int(answer[9:12]), answer.partition(b"\r\n\r\n")[2]

    def searches(self, n: int) -> list[int]:
        with ThreadPoolExecutor(8) as pool:
            return [status for status, _ in pool.map(lambda _: self.ask("/search", {"id": "item/3"}), range(n))]


@pytest.fixture
def served(shop: Catalogue, tmp_path: Path, ctrl_c: None) -> Iterator[Served]:
    shop.engines[0].hasher.save(tmp_path / "shop.thpi")
    shop.engines[0].index.save(tmp_path / "shop.index")
    command = [sys.executable, "-c", "from thpi.cli import main; main()", "serve", "--port", "0", "--workers", "2"]
    command += ["--model", str(tmp_path / "shop.thpi"), "--index", str(tmp_path / "shop.index"), "--writable"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "THPI_TOKEN": TOKEN, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as started:
        assert started.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", started.stdout.readline())
        assert found
        made = Served(started, int(found.group(1)), tmp_path / "shop.index")
        try:
            wait_until(lambda: len(made.workers) == 2)
            yield made
        finally:
            for each in made.workers if started.poll() is None else []:
                each.kill()
            started.kill()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def counted(served: Served) -> float:
    text = served.ask("/metrics")[1].decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("thpi_queries_total"))


def test_the_workers_count_together_and_leave_no_files(served: Served, tmp_path: Path) -> None:
    assert served.searches(40) == [200] * 40
    assert {counted(served) for _ in range(10)} == {40.0}
    text = served.ask("/metrics")[1].decode()
    assert 'thpi_index_codes{bits="20",method="LSH"} 200.0' in text
    assert "thpi_build_info" in text
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(30) == 0
    assert not list(tmp_path.glob("thpi-counters-*"))


def test_a_worker_that_is_killed_is_started_again(served: Served) -> None:
    before = {each.pid for each in served.workers}
    lost = served.workers[0]
    lost.kill()
    wait_until(lambda: len({each.pid for each in served.workers} - {lost.pid}) == 2)
    assert served.searches(20) == [200] * 20
    assert len({each.pid for each in served.workers} & before) == 1
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(30) == 0


def test_workers_whose_parent_is_killed_stop(served: Served) -> None:
    workers = served.workers
    served.process.kill()
    served.process.wait(30)
    wait_until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in workers))


def test_all_workers_see_what_one_of_them_has_added(served: Served) -> None:
    status, answer = served.ask("/items", {"ids": ["new"], "vectors": [[1.0] * 12]})
    assert (status, json.loads(answer)["items"]) == (201, 201)
    assert "new" in HammingIndex.open(served.index)
    wait_until(lambda: {json.loads(served.ask("/healthz")[1])["items"] for _ in range(20)} == {201})
