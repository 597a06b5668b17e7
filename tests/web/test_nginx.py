"""The file for nginx that the documentation gives: what it keeps away from the server."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.attack._server import Server
from thpi.web.running import _free

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
FILE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "nginx.conf"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx-light, or the nginx of your system"),
]


@pytest.fixture(scope="module")
def port(made: Path, serve: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """nginx with the file as it is, but for the ports, waits of a second, and folders that any user may write to."""
    server, folder, port = serve(made), tmp_path_factory.mktemp("nginx"), _free("127.0.0.1", 0)[1]
    text = FILE.read_text().replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}").replace("_timeout 10s", "_timeout 1s")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    text = f"pid {folder}/pid;\nerror_log {folder}/log;\ndaemon off;\n" + text.replace("http {", "http {\n" + folders)
    (folder / "nginx.conf").write_text(text)
    command = [str(NGINX), "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", str(folder / "log")]
    assert subprocess.run([*command, "-t"], capture_output=True, timeout=20).returncode == 0
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 10
            while not _answers(port):
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.05)
            yield port
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    try:
        return ask(port, "/health")[0] == 200
    except OSError:
        return False


def ask(port: int, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, data, {"content-type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def raw(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        answer = b""
        with suppress(ConnectionResetError):
            connection.sendall(data)
            while part := connection.recv(65536):
                answer += part
    return answer


def test_searches_and_the_page_go_through(port: int) -> None:
    status, answer = ask(port, "/search", {"id": "item/3", "k": 5})
    assert (status, len(json.loads(answer)["results"][0]["neighbours"])) == (200, 5)
    assert b"<!doctype html>" in ask(port, "/")[1]
    assert ask(port, "/items/item%2F1/picture")[0] == 200
    assert ask(port, "/items/item%2F7/picture")[0] == 404


@pytest.mark.parametrize(
    "first",
    [b"", b"GET /health HTTP/1.1\r\nHost: x\r\n", b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"],
)
def test_a_client_that_waits_is_closed_and_the_server_never_sees_it(port: int, first: bytes) -> None:
    start = time.monotonic()
    answer = raw(port, first)
    assert time.monotonic() - start < 5
    assert b" 200 " not in answer


def test_connections_of_one_address_have_a_limit(port: int) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)) for _ in range(60)]
        for connection in held:
            connection.sendall(b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        answers = []
        for connection in held:
            with suppress(ConnectionResetError):  # those that are let in, and wait for too long
                answers.append(connection.recv(65536)[9:12])
    assert answers.count(b"429") == 60 - 32
    assert ask(port, "/search", {"id": "item/3"})[0] == 200


def test_idle_connections_shut_nobody_out(port: int) -> None:
    with ExitStack() as stack:
        for _ in range(700):  # more than thpi serve lets in
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        start = time.monotonic()
        assert ask(port, "/search", {"id": "item/3"})[0] == 200
        assert time.monotonic() - start < 5  # a server that was full would answer after its idle limit, 10 seconds


def test_two_lengths_two_hosts_and_long_heads_are_refused(port: int) -> None:
    both = b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert raw(port, both).startswith(b"HTTP/1.1 400 ")
    assert raw(port, b"GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert raw(port, b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000 + b"\r\n\r\n")[9:12] in (b"400", b"431")
    assert ask(port, "/search", b" " * 17_000_000)[0] == 413
