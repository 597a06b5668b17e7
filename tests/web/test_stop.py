"""``thpi serve`` as a process: it starts on loopback, and on SIGTERM finishes what is running."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from thpi.cli import run
from thpi.web import Catalogue


@contextmanager
def _serving(shop: Catalogue, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    shop.engines[0].hasher.save(tmp_path / "shop.thpi")
    shop.engines[0].index.save(tmp_path / "shop.index")
    command = [sys.executable, "-c", "from thpi.cli import main; main()", "serve", "--port", "0"]
    command += ["--model", str(tmp_path / "shop.thpi"), "--index", str(tmp_path / "shop.index")]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as started:
        assert started.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", started.stdout.readline())
        assert found, "the server did not tell its address on loopback"
        try:
            yield started, int(found.group(1))
        finally:
            started.kill()


@pytest.fixture
def process(shop: Catalogue, tmp_path: Path, ctrl_c: None) -> Iterator[tuple[subprocess.Popen[str], int]]:
    with _serving(shop, tmp_path) as started:
        yield started


@pytest.mark.slow
def test_a_running_request_is_finished_before_the_end(process: tuple[subprocess.Popen[str], int]) -> None:
    server, port = process
    body = json.dumps({"id": "item/3", "k": 5}).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        head = f"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        connection.sendall(head + body[:10])  # the request has begun and is not all there
        _wait_until(lambda: b"thpi_requests_in_progress 2.0" in _get(port, "/metrics"))
        server.send_signal(signal.SIGTERM)
        _wait_until(lambda: not _accepts(port))  # nobody new is let in
        assert server.poll() is None
        connection.sendall(body[10:])
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["results"][0]["neighbours"]) == 5
    assert server.wait(20) == 0


@pytest.mark.slow
def test_without_requests_it_stops_at_once(process: tuple[subprocess.Popen[str], int]) -> None:
    server, port = process
    assert b'"items":200' in _get(port, "/healthz")
    server.send_signal(signal.SIGINT)
    assert server.wait(20) == 0


@pytest.mark.slow
def test_an_interrupt_that_was_ignored_at_the_start_stays_ignored(
    shop: Catalogue, tmp_path: Path, ctrl_c: None
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _serving(shop, tmp_path) as (server, port):
        server.send_signal(signal.SIGINT)
        assert b'"items":200' in _get(port, "/healthz")
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(1)
        assert b'"items":200' in _get(port, "/healthz")
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0


_EARLY = """
import signal, uvicorn
from thpi.cli import main

class Early(uvicorn.Server):  # the signal comes after thpi is ready for it, and before uvicorn is
    def run(self, sockets=None):
        signal.raise_signal(signal.SIGTERM)
        super().run(sockets)

uvicorn.Server = Early
main()
"""


@pytest.mark.slow
def test_a_signal_is_not_lost_while_the_server_starts(shop: Catalogue, tmp_path: Path) -> None:
    shop.engines[0].hasher.save(tmp_path / "shop.thpi")
    shop.engines[0].index.save(tmp_path / "shop.index")
    command = [sys.executable, "-c", _EARLY, "serve", "--port", "0"]
    command += ["--model", str(tmp_path / "shop.thpi"), "--index", str(tmp_path / "shop.index")]
    assert subprocess.run(command, timeout=40, capture_output=True).returncode == 0


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def _get(port: int, path: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def _wait_until(holds: object) -> None:
    deadline = time.monotonic() + 20
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--demo"),
        (["--model", "shop.thpi"], "--index"),
        (["--demo", "--model", "shop.thpi"], "--demo"),
        (["--model", "nowhere.thpi", "--index", "nowhere.index"], "nowhere.thpi"),
        (["--demo", "../x"], "choose one of digits, shop"),
        (["--demo", "--token", "short"], "token must have"),
        (["--demo", "--time-limit", "0"], "time_limit=0"),
        (["--model", "shop.thpi", "--index", "shop.index", "--writable"], "--writable needs a token"),
        (["--demo", "--writable", "--token", "open sesame"], "--demo"),
    ],
)
def test_a_wrong_command_line_is_one_clear_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", *arguments]) == 2
    assert message in capsys.readouterr().err
