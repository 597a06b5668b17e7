"""A server as a process, beside processes that change its file: it keeps up, and answers nothing wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np
import psutil
import pytest

import thpi
from benchmarks.attack._server import Server, serving
from thpi.collection import write
from thpi.web.running import _free

pytestmark = pytest.mark.slow
TOKEN = "open sesame"


def asked(server: Server, path: str, body: Any = None) -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    status, answer = server.ask(path, body, **headers)
    return status, json.loads(answer)


def until(holds: Callable[[], Any], limit: float = 20) -> float:
    start = time.monotonic()
    while not holds():
        assert time.monotonic() < start + limit
        time.sleep(0.02)
    return time.monotonic() - start


def health(server: Server) -> Any:
    return asked(server, "/health")[1]


def ids_of(answer: Any) -> list[Any]:
    return [hit["id"] for hit in answer["results"][0]["neighbours"]]


def test_what_another_process_adds_and_removes_is_seen_and_no_request_is_lost(path: Path, vectors: np.ndarray) -> None:
    statuses: list[int] = []
    with serving(path.parent) as server, thpi.open(path) as other:
        done = threading.Event()

        def search() -> None:
            while not done.is_set():
                statuses.append(asked(server, "/search", {"id": "item/3", "k": 50})[0])

        searching = threading.Thread(target=search)
        searching.start()
        for i in range(10):
            other.add(vectors[i : i + 1] + 0.01, [f"new/{i}"])
            assert until(lambda: health(server)["version"] == other.version) < 5
            found = asked(server, "/search", {"id": f"new/{i}", "k": 1})
            assert found[0] == 200
        other.remove([f"new/{i}" for i in range(10)])
        until(lambda: health(server)["items"] == 200)
        assert asked(server, "/search", {"id": "new/3"})[0] == 404
        done.set()
        searching.join()
    assert set(statuses) == {200}
    assert len(statuses) > 10


def test_a_replaced_model_is_taken_over(path: Path, vectors: np.ndarray) -> None:
    other = thpi.LSH(n_bits=24, random_state=1).fit(vectors[:, :7])
    with serving(path.parent) as server:
        with thpi.open(path) as shop:
            shop.replace(other, other.transform(vectors[:, :7]), shop.ids)
            until(lambda: health(server)["version"] == shop.version)
            about = asked(server, "/about")[1]
            assert (about["bits"], about["features"], about["model"]) == (24, 7, other.fingerprint_)
            answer = asked(server, "/search", {"vector": vectors[5, :7].tolist(), "k": 9})[1]
            assert ids_of(answer) == shop.search(vectors[5:6, :7], 9).ids[0].tolist()
        assert asked(server, "/search", {"vector": vectors[5].tolist()})[0] == 422


def test_no_answer_mixes_two_models_while_they_replace_each_other(path: Path, vectors: np.ndarray) -> None:
    """Codes of one model and queries coded by another would give distances that look right and mean nothing."""
    models = [thpi.LSH(n_bits=20, random_state=seed).fit(vectors) for seed in (0, 1)]
    right: list[Any] = []
    for model in models:
        write(path.with_name("other.thpi"), model, model.transform(vectors), range(200), about={"title": "x"})
        with thpi.open(path.with_name("other.thpi")) as shop:
            by_row, by_id = shop.search(vectors[:1], 7), shop.search(id=3, k=7)
            right.append([(found.ids[0].tolist(), found.distances[0].tolist()) for found in (by_row, by_id)])
        shutil.copyfile(path.with_name("other.thpi"), path.with_name(f"{model.random_state}.thpi"))
    assert right[0][0][0] != right[1][0][0]
    assert right[0][1][0] != right[1][1][0]
    os.replace(path.with_name("other.thpi"), path)
    statuses: list[int] = []
    with serving(path.parent) as server, thpi.open(path) as writer:
        done = threading.Event()

        def replace() -> None:
            for i in range(12):
                model = models[i % 2]
                if i % 3:
                    writer.replace(model, model.transform(vectors), writer.ids)
                else:
                    shutil.copyfile(path.with_name(f"{model.random_state}.thpi"), path.with_name("new.thpi"))
                    os.replace(path.with_name("new.thpi"), path)
                time.sleep(0.3)
            done.set()

        replacing = threading.Thread(target=replace)
        replacing.start()
        while not done.is_set():
            for place, body in enumerate(({"vector": vectors[0].tolist(), "k": 7}, {"id": 3, "k": 7})):
                status, answer = asked(server, "/search", body)
                statuses.append(status)
                if status == 200:
                    hits = answer["results"][0]["neighbours"]
                    got = [hit["id"] for hit in hits], pytest.approx([hit["distance"] for hit in hits], rel=1e-9)
                    assert got in (right[0][place], right[1][place])
        replacing.join()
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) > 0.9 * len(statuses) > 50


def test_a_file_that_was_put_in_its_place_is_taken_over(path: Path, vectors: np.ndarray) -> None:
    hasher = thpi.LSH(n_bits=20, random_state=0).fit(vectors)
    write(path.with_name("new.thpi"), hasher, hasher.transform(vectors[:50]), range(50), about={"title": "new"})
    with serving(path.parent) as server:
        os.replace(path.with_name("new.thpi"), path)
        until(lambda: health(server)["items"] == 50)
        assert asked(server, "/about")[1]["title"] == "new"
        assert set(ids_of(asked(server, "/search", {"id": 3, "k": 49})[1])) == set(range(50)) - {3}


@pytest.mark.parametrize("how", ["overwritten", "truncated", "gone", "another file", "flipped"])
def test_a_file_that_is_damaged_leaves_the_old_state(path: Path, vectors: np.ndarray, how: str) -> None:
    """Searches by vector go on as before; by an item, which needs the file, they are right or refused."""
    whole = path.read_bytes()
    with thpi.open(path) as shop:
        by_row, by_id = shop.search(vectors[:1], 5).ids[0].tolist(), shop.search(id="item/3", k=5).ids[0].tolist()
    with serving(path.parent) as server:
        assert health(server)["status"] == "ok"
        if how == "gone":
            path.unlink()
        elif how == "another file":
            path.with_name("text").write_bytes(b"no collection")
            os.replace(path.with_name("text"), path)
        elif how == "truncated":
            with open(path, "r+b") as file:
                file.truncate(len(whole) // 2)
        else:
            rng = np.random.RandomState(0)
            with open(path, "r+b") as file:
                for place in rng.randint(28 if how == "flipped" else 0, len(whole) - 4096, size=60):
                    file.seek(place)
                    file.write(rng.bytes(1 if how == "flipped" else 4096))
                file.seek(24)  # the counter by which SQLite sees that a file has changed
                file.write((2**20).to_bytes(4, "big"))
        problem = until(lambda: health(server)["status"] == "stale" or how == "flipped")
        assert problem < 10
        for _ in range(20):
            status, answer = asked(server, "/search", {"vector": vectors[0].tolist(), "k": 5})
            assert (status, ids_of(answer)) == (200, by_row)
            status, answer = asked(server, "/search", {"id": "item/3", "k": 5})
            assert ids_of(answer) == by_id if status == 200 else status == 503
        if how != "flipped":
            assert str(path) in health(server)["problem"]
        assert health(server)["items"] == 200
        # Once the whole file is there again, it is followed again.
        path.with_name("whole").write_bytes(whole)
        os.replace(path.with_name("whole"), path)
        until(lambda: health(server)["status"] == "ok" and asked(server, "/search", {"id": "item/3"})[0] == 200)
        assert ids_of(asked(server, "/search", {"id": "item/3", "k": 5})[1]) == by_id
        assert server.log.stat().st_size < 20_000


def test_servers_and_a_command_write_at_the_same_time_and_nothing_is_lost(path: Path, vectors: np.ndarray) -> None:
    options = ("--writable", "--token", TOKEN)
    acknowledged: list[str] = []
    with serving(path.parent, *options) as one, serving(path.parent, *options) as two:

        def add(server: Server, name: str) -> None:
            for i in range(20):
                status, answer = asked(server, "/items", {"ids": [f"{name}/{i}"], "vectors": [vectors[i].tolist()]})
                assert status == 201, answer
                acknowledged.extend(answer["ids"])

        threads = [threading.Thread(target=add, args=each) for each in ((one, "one"), (two, "two"))]
        for thread in threads:
            thread.start()
        with thpi.open(path) as third:
            for i in range(20):
                third.add(vectors[i : i + 1], [f"three/{i}"])
        for thread in threads:
            thread.join()
        with thpi.open(path) as shop:
            assert len(shop) == 260
            assert set(acknowledged) <= set(shop.ids.tolist())
            shop.check()
            until(lambda: health(one)["version"] == health(two)["version"] == shop.version)


@pytest.mark.parametrize("whom", ["the worker", "the parent"])
def test_a_server_that_is_killed_loses_nothing_and_starts_again(path: Path, vectors: np.ndarray, whom: str) -> None:
    options = ("--writable", "--token", TOKEN)
    acknowledged: list[str] = []
    with serving(path.parent, *options) as server:
        killed = threading.Event()

        def add() -> None:
            for i in range(10_000):
                try:
                    status, answer = asked(
                        server, "/items", {"ids": [f"n/{i}"], "vectors": [vectors[i % 200].tolist()]}
                    )
                except (OSError, ValueError):
                    return
                if status == 201:
                    acknowledged.extend(answer["ids"])
                if killed.is_set():
                    return

        adding = threading.Thread(target=add)
        adding.start()
        until(lambda: len(acknowledged) > 20)
        workers = server.workers
        (workers[0] if whom == "the worker" else psutil.Process(server.process.pid)).kill()
        killed.set()
        adding.join()
        if whom == "the worker":  # another one takes its place

            def answers() -> bool:
                try:
                    return bool(asked(server, f"/items/{quote('item/1', safe='')}/picture")[0]) or True
                except ValueError:
                    return True
                except OSError:
                    return False

            until(answers, 60)
            assert health(server)["items"] >= 200 + len(acknowledged)
        else:
            psutil.wait_procs(workers, timeout=20)
            assert not any(worker.is_running() for worker in workers), "an orphan goes on"
            with serving(path.parent, *options, "--port", str(server.port)) as again:
                assert again.port == server.port
                assert health(again)["items"] >= 200 + len(acknowledged)
    with thpi.open(path) as shop:
        shop.check()
        assert set(acknowledged) <= set(shop.ids.tolist())


def test_several_workers_answer_on_one_address_and_count_together(path: Path) -> None:
    options = ("--workers", "2", "--writable", "--token", TOKEN)
    with serving(path.parent, *options) as server:
        until(lambda: len(server.workers) == 2)
        for _ in range(60):
            assert asked(server, "/search", {"id": "item/3", "k": 3})[0] == 200
        assert asked(server, "/items", {"ids": ["new"], "vectors": [[0.5] * 12]})[0] == 201
        until(lambda: all(health(server)["items"] == 201 for _ in range(30)))
        headers = {"authorization": f"Bearer {TOKEN}"}
        text = server.ask("/metrics", **headers)[1].decode()
        assert "thpi_queries_total 60.0" in text
        assert "thpi_items 201.0" in text


def test_a_running_request_is_finished_before_the_end(path: Path) -> None:
    body = b'{"id": "item/3", "k": 5}'
    with serving(path.parent) as server, server.connect(20) as connection:
        head = b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body[:10])  # the request has begun and is not all there
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert server.process.poll() is None
        connection.sendall(body[10:])
        answer = b""
        while part := connection.recv(65536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert len(ids_of(json.loads(answer.partition(b"\r\n\r\n")[2]))) == 5
        assert server.process.wait(20) == 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_without_requests_it_stops_at_once(path: Path, ctrl_c: None, sent: signal.Signals) -> None:
    with serving(path.parent) as server:
        assert health(server)["items"] == 200
        workers, start = server.workers, time.monotonic()
        server.process.send_signal(sent)
        assert server.process.wait(20) == 0
        assert time.monotonic() - start < 5
        assert not any(worker.is_running() for worker in workers)
        assert server.log.read_text() == ""


def test_two_servers_do_not_share_an_address(path: Path) -> None:
    """granian would let them: the kernel would give each half of the connections."""
    with serving(path.parent) as server:
        command = [sys.executable, "-m", "thpi", "serve", str(path), "--port", str(server.port)]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (second.returncode, "in use" in second.stderr) == (2, True), second.stderr
    assert _free("127.0.0.1", server.port) == ("127.0.0.1", server.port)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2"])
def test_it_listens_under_a_name_or_another_address(path: Path, host: str) -> None:
    command = [sys.executable, "-m", "thpi", "serve", str(path), "--port", "0", "--host", host]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        where = process.stdout.readline().split()[-1]
        try:
            name = f"localhost:{where.rpartition(':')[2]}"
            with urlopen(Request(f"{where}/health", headers={"host": name}), timeout=20) as answer:
                assert json.load(answer)["items"] == 200
        finally:
            process.terminate()
        assert process.wait(20) == 0
