"""A server as a process, beside processes that change its index: it keeps up, and loses neither requests nor items."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.export import write_npy
from thpi.index import HammingIndex

pytestmark = pytest.mark.slow
TOKEN = "open sesame"
X = np.random.RandomState(0).standard_normal((400, 8))
COMMAND = [sys.executable, "-c", "from thpi.cli import main; main()"]


@pytest.fixture(scope="module")
def hasher() -> thpi.BaseHasher:
    return thpi.ITQ(n_bits=8, random_state=0).fit(X)


@pytest.fixture
def folder(hasher: thpi.BaseHasher, tmp_path: Path) -> Path:
    hasher.save(tmp_path / "shop.thpi")
    index = HammingIndex(8, model=hasher.fingerprint_)
    index.add(hasher.transform(X[:300]), ids=[f"n{i}" for i in range(300)])
    index.save(tmp_path / "shop.index")
    return tmp_path


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [*COMMAND, "serve", "--port", "0", "--model", "shop.thpi", "--index", "shop.index", *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment) as started:
        assert started.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", started.stdout.readline())
        assert found, "the server did not start"
        try:
            yield started, int(found.group(1))
        finally:
            started.kill()


def ask(port: int, method: str, path: str, body: Any = None, token: str | None = TOKEN) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"content-type": "application/json"} | ({} if token is None else {"authorization": f"Bearer {token}"})
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, content


def seconds_until(holds: Any, limit: float = 20) -> float:
    start = time.monotonic()
    while not holds():
        assert time.monotonic() < start + limit
        time.sleep(0.02)
    return time.monotonic() - start


def test_an_index_add_of_another_process_is_seen_within_a_second_and_no_request_is_lost(
    folder: Path, hasher: thpi.BaseHasher, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)

    def version_after(*command: str) -> str:
        capsys.readouterr()
        assert run(["index", *command, "--json"]) == 0
        version: str = json.loads(capsys.readouterr().out)["version"]
        return version

    for part in range(3):
        rows = slice(300 + 10 * part, 310 + 10 * part)
        ids = [f"n{i}" for i in range(rows.start, rows.stop)]
        write_npy(folder / f"new{part}.npy", hasher.transform(X[rows]), 8, ids, hasher.fingerprint_)
    statuses: list[int] = []
    problems: list[Exception] = []
    done = threading.Event()

    def search(port: int) -> None:
        while not done.is_set():
            try:
                body = {"vector": X[len(statuses) % 400].tolist(), "k": 5, "details": True}
                status, answer = ask(port, "POST", "/search", body, token=None)
                statuses.append(status)
                assert len(answer["results"][0]["neighbours"]) == 5
            except Exception as error:
                problems.append(error)

    with serving(folder) as (_, port):
        first = ask(port, "GET", "/healthz")[1]
        assert first == {"status": "ok", "items": 300, "version": HammingIndex.open(folder / "shop.index").version}
        searching = [threading.Thread(target=search, args=(port,)) for _ in range(3)]
        for thread in searching:
            thread.start()
        waited = []
        for part in range(3):
            added = version_after("add", "shop.index", f"new{part}.npy")
            waited.append(seconds_until(lambda added=added: ask(port, "GET", "/healthz")[1]["version"] == added))
            status, _ = ask(port, "POST", "/search", {"id": f"n{300 + 10 * part}", "k": 1})
            assert status == 200
            version_after("remove", "shop.index", *(f"n{i}" for i in range(20 * part, 20 * part + 20)))
        last = version_after("remove", "shop.index", "n299", "--compact")  # another file
        waited.append(seconds_until(lambda: ask(port, "GET", "/healthz")[1]["version"] == last))
        done.set()
        for thread in searching:
            thread.join(30)
        assert ask(port, "GET", "/healthz")[1]["items"] == 269
        assert ask(port, "POST", "/search", {"id": "n299"})[0] == 404
    assert problems == []
    assert set(statuses) == {200}
    assert len(statuses) > 20
    assert min(waited) < 1, waited  # a busy machine may delay some


def test_a_file_that_cannot_be_followed_is_told_and_requests_go_on(folder: Path) -> None:
    with serving(folder) as (_, port):
        version = ask(port, "GET", "/healthz")[1]["version"]
        whole = (folder / "shop.index").read_bytes()
        HammingIndex(8, model="0d1f6f3f1c8e9b7a").save(folder / "shop.index")
        seconds_until(lambda: ask(port, "GET", "/healthz")[1]["status"] == "stale")
        state = ask(port, "GET", "/healthz")[1]
        assert "0d1f6f3f1c8e9b7a" in state["problem"]
        assert (state["items"], state["version"]) == (300, version)
        assert ask(port, "POST", "/search", {"id": "n7"})[0] == 200
        (folder / "other").write_bytes(whole)
        (folder / "other").replace(folder / "shop.index")
        seconds_until(lambda: ask(port, "GET", "/healthz")[1]["status"] == "ok")


def test_an_acknowledged_item_survives_a_kill(folder: Path, hasher: thpi.BaseHasher) -> None:
    with serving(folder, "--writable", "--token", TOKEN) as (server, port):
        for i in range(300, 330):
            body = {"ids": [f"n{i}"], "vectors": [X[i].tolist()]}
            status, answer = ask(port, "POST", "/items", body)
            assert (status, answer["ids"]) == (201, [f"n{i}"])
        assert ask(port, "DELETE", "/items/n5")[0] == 200
        server.send_signal(signal.SIGKILL)
        server.wait(20)
    index = HammingIndex.open(folder / "shop.index")
    assert index.ids.tolist() == [f"n{i}" for i in range(330) if i != 5]
    np.testing.assert_array_equal(index.get_codes([f"n{i}" for i in range(300, 330)]), hasher.transform(X[300:330]))


ODD = ["", "a/b", "/", "..", "ü ☃", "a,b", "two\nlines\n", "%2F", "?q#f", "-1", " ", "n0/picture", "x" * 3000]


def test_any_text_is_an_id(folder: Path) -> None:
    with serving(folder, "--writable", "--token", TOKEN) as (_, port):
        for item in ODD:
            assert ask(port, "POST", "/items", {"ids": [item], "vectors": X[:1].tolist()})[0] == 201, item
        assert HammingIndex.open(folder / "shop.index").ids[-len(ODD) :].tolist() == ODD
        for item in ODD:
            status, answer = ask(port, "DELETE", "/items/" + quote(item, safe=""))
            assert (status, answer.get("ids")) == (200, [item])
        assert len(HammingIndex.open(folder / "shop.index")) == 300


def test_kills_at_any_moment_lose_nothing_that_was_acknowledged(folder: Path) -> None:
    acknowledged: list[str] = []
    for life in range(3):
        with serving(folder, "--writable", "--token", TOKEN) as (server, port):
            threading.Timer(0.15 + 0.15 * life, server.kill).start()
            for i in range(10_000):
                item = f"r{life}.{i}"
                try:
                    status, _ = ask(port, "POST", "/items", {"ids": [item], "vectors": [X[i % 400].tolist()]})
                except (OSError, http.client.HTTPException):
                    break
                assert status == 201
                acknowledged.append(item)
            server.wait(20)
        kept = set(HammingIndex.open(folder / "shop.index").ids.tolist())
        assert set(acknowledged) <= kept
    assert len(acknowledged) > 10


def test_two_servers_and_a_command_write_one_index(folder: Path, hasher: thpi.BaseHasher) -> None:
    write_npy(folder / "new.npy", hasher.transform(X[300:310]), 8, [f"c{i}" for i in range(10)], hasher.fingerprint_)
    options = "--writable", "--token", TOKEN
    with serving(folder, *options) as (_, one), serving(folder, *options) as (_, other):
        adding = [*COMMAND, "index", "add", "shop.index", "new.npy"]
        with subprocess.Popen(adding, cwd=folder, stdout=subprocess.DEVNULL) as command:
            for i in range(40):
                body = {"ids": [f"s{i}"], "vectors": [X[i].tolist()]}
                assert ask(other if i % 2 else one, "POST", "/items", body)[0] == 201
            assert command.wait(30) == 0
        version = HammingIndex.open(folder / "shop.index").version
        for port in (one, other):
            seconds_until(lambda port=port: ask(port, "GET", "/healthz")[1]["version"] == version)
            assert ask(port, "GET", "/healthz")[1]["items"] == 350


def test_a_table_with_a_header_line_is_searched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the names of the columns that the model was fitted on, whatever their order; others are not looked at."""
    names = [f"f{j}" for j in range(8)]
    lines = [",".join(["sku", *names])] + [",".join([f"n{i}", *map(repr, X[i].tolist())]) for i in range(300)]
    (folder / "shop.csv").write_text("\n".join(lines))
    monkeypatch.chdir(folder)
    for command in (
        "fit shop.csv named.thpi --ignore sku --bits 8",
        "encode named.thpi shop.csv codes.npy --ids sku",
        "index build codes.npy named.index",
    ):
        assert run(command.split()) == 0
    with serving(folder, "--model", "named.thpi", "--index", "named.index") as (_, port):

        def post(header: list[str], rows: list[list[str]]) -> tuple[int, Any]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            text = "\n".join(",".join(cells) for cells in [header, *rows] if cells)
            connection.request("POST", "/search?k=4", text, {"content-type": "text/csv"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        plain = [[repr(value) for value in row] for row in X[:3].tolist()]
        expected = post([], plain)
        assert expected[0] == 200
        turned = [[f'"x, {i}"', *row[::-1]] for i, row in enumerate(plain)]
        for header, rows in ((names, plain), (["sku", *names[::-1]], turned)):
            status, answer = post(header, rows)
            assert status == 200
            assert answer["results"] == expected[1]["results"]
        status, answer = post(["sku", *names[1:], "other"], turned)
        assert status == 422
        assert "no column 'f0'" in answer["error"]
