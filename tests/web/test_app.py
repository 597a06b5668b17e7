"""The addresses and what they answer, also to hostile requests: always 4xx with a message, and the server goes on."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("httpx", reason="needs httpx: pip install httpx")

from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

import thpi
from benchmarks.attack._server import Server
from thpi.collection import Collection, write
from thpi.web import Settings, create_app

BYTES = "application/octet-stream"


@pytest.fixture(scope="module")
def client(shop: Collection) -> TestClient:
    return TestClient(create_app(shop, Settings(max_k=50)))


def found(answer: Any) -> list[Any]:
    """Ids and distances; a product of several rows may add up in another order than that of one row."""
    hits = [result["neighbours"] for result in answer.json()["results"]]
    return [[(hit["id"], pytest.approx(hit["distance"], rel=1e-9)) for hit in some] for some in hits]


def test_health_and_description(client: TestClient, shop: Collection) -> None:
    assert client.get("/health").json() == {"status": "ok", "items": 200, "version": shop.version}
    assert client.get("/about").json() == {
        "title": "shop",
        "items": 200,
        "version": shop.version,
        "method": "LSH",
        "bits": 20,
        "features": 12,
        "source_features": None,
        "model": shop.model,
        "max_k": 50,
        "writable": False,
    }


def test_vectors_one_by_one_together_and_as_bytes_find_what_the_collection_finds(
    client: TestClient, shop: Collection, vectors: np.ndarray
) -> None:
    X = vectors[:3].astype("<f4")
    expected = shop.search(X.astype(np.float64), 4)
    one = [found(client.post("/search", json={"vector": x.tolist(), "k": 4}))[0] for x in X]
    assert [[item for item, _ in hits] for hits in one] == expected.ids.tolist()
    np.testing.assert_allclose([[at.expected for _, at in hits] for hits in one], expected.distances)
    assert found(client.post("/search", json={"vectors": X.tolist(), "k": 4})) == one
    headers = {"content-type": BYTES}
    assert found(client.post("/search?k=4", content=X.tobytes(), headers=headers)) == one
    assert client.post("/search?k=4", content=X.tobytes(), headers=headers).json()["order"] == "asymmetric"


def test_codes_as_text_and_as_bytes_find_what_the_collection_finds(
    client: TestClient, shop: Collection, vectors: np.ndarray
) -> None:
    codes = shop.hasher.transform(vectors[:3])
    expected = shop.search_codes(codes, 4)
    by_text = {"codes": [code.tobytes().hex() for code in codes], "model": shop.model, "k": 4}
    where = f"/search?content=codes&k=4&model={shop.model}"
    for answer in (
        client.post("/search", json=by_text),
        client.post(where, content=codes.tobytes(), headers={"content-type": BYTES}),
    ):
        assert answer.json()["order"] == "hamming"
        assert [[item for item, _ in hits] for hits in found(answer)] == expected.ids.tolist()
        assert [[at.expected for _, at in hits] for hits in found(answer)] == expected.distances.tolist()
    by_rows = client.post("/search", json={"vectors": vectors[:3].tolist(), "k": 4, "order": "hamming"})
    assert found(by_rows) == found(client.post("/search", json=by_text))


def test_an_answer_may_be_bytes_if_ids_are_numbers(client: TestClient, tmp_path: Path, vectors: np.ndarray) -> None:
    answer = client.post("/search", json={"id": "item/3"}, headers={"accept": BYTES})
    assert (answer.status_code, "accept JSON" in answer.json()["error"]) == (406, True)
    hasher = thpi.LSH(n_bits=20, random_state=0).fit(vectors)
    write(tmp_path / "numbers.thpi", hasher, hasher.transform(vectors), np.arange(200) * 10 - 50, about={})
    with thpi.open(tmp_path / "numbers.thpi") as numbers:
        client = TestClient(create_app(numbers))
        body = vectors[:3].astype("<f4").tobytes()
        answer = client.post("/search?k=4", content=body, headers={"content-type": BYTES, "accept": BYTES})
        assert (answer.headers["content-type"], answer.headers["x-thpi-order"]) == (BYTES, "asymmetric")
        expected = numbers.search(vectors[:3].astype("<f4").astype(np.float64), 4)
        np.testing.assert_array_equal(np.frombuffer(answer.content[:96], "<i8").reshape(3, 4), expected.ids)
        got = np.frombuffer(answer.content[96:], "<f4").reshape(3, 4)
        np.testing.assert_allclose(got, expected.distances, rtol=1e-6)


def test_items_and_their_pictures(client: TestClient) -> None:
    page = client.get("/items", params={"limit": 2, "offset": 1}).json()
    shown = [{"id": f"item/{i}", "text": f"the text of {i}", "picture": True} for i in (1, 2)]
    assert page == {"total": 200, "items": shown}
    assert client.get("/items", params={"offset": 199}).json()["items"] == [
        {"id": "item/199", "text": None, "picture": False}
    ]
    answer = client.get(f"/items/{quote('item/1', safe='')}/picture")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert len(client.get("/items", params={"offset": 5, "limit": 1}).json()["items"][0]["text"]) == 241


@pytest.mark.parametrize("item", ["item/5", "item/6", "item/999", "../shop.thpi", ""])
def test_what_is_no_picture_is_not_sent(client: TestClient, item: str) -> None:
    answer = client.get(f"/items/{quote(item, safe='')}/picture")  # item/5 has an SVG, which could hold a script
    assert (answer.status_code, "picture" in answer.json()["error"]) == (404, True)


def test_details_of_a_search(client: TestClient, shop: Collection) -> None:
    (result,) = client.post("/search", json={"id": "item/1", "k": 199, "details": True} | {"k": 50}).json()["results"]
    assert result["code"] == shop.codes_of(["item/1"])[0].tobytes().hex()
    for hit in result["neighbours"]:
        assert hit["code"] == shop.codes_of([hit["id"]])[0].tobytes().hex()
        assert hit["item"]["id"] == hit["id"]
        assert (hit["item"]["text"] is not None) == (int(hit["id"][5:]) < 6)
        differing = int(result["code"], 16) ^ int(hit["code"], 16)
        assert hit["distance"] == bin(differing).count("1")


def test_metrics_are_prometheus_text_and_count(shop: Collection) -> None:
    client = TestClient(create_app(shop))
    for _ in range(3):
        client.post("/search", json={"id": "item/1"})
    client.post("/search", json={"vectors": [[0.0] * 12] * 7})
    client.post("/search", content="{")
    client.get("/nowhere/at/all")
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
    }
    assert samples["thpi_requests_total", "200"] == 4
    assert samples["thpi_requests_total", "400"] == 1
    assert samples["thpi_requests_total", "404"] == 1
    assert samples["thpi_queries_total",] == 10
    assert samples["thpi_index_seconds_count",] == 4
    assert samples["thpi_request_seconds_count",] == 6
    assert samples["thpi_items",] == 200


def test_a_token_is_asked_for_where_one_is_set(shop: Collection) -> None:
    client = TestClient(create_app(shop, Settings(token="open sesame")))
    for path in ("/", "/static/page.js", "/health"):
        assert client.get(path).status_code == 200
    for path in ("/about", "/items", "/items/item%2F1/picture", "/metrics", "/other"):
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic open sesame"}):
            answer = client.get(path, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "token" in answer.json()["error"]
    assert client.post("/search", json={"id": "item/1"}).status_code == 401
    headers = {"authorization": "Bearer open sesame"}
    assert client.post("/search", json={"id": "item/1"}, headers=headers).status_code == 200
    assert client.get("/metrics", headers=headers).status_code == 200


def test_another_host_name_is_refused(shop: Collection) -> None:
    client = TestClient(create_app(shop, Settings(host_names=("localhost", "127.0.0.1", "[::1]"))))
    for name in ("localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST:80"):
        assert client.get("/health", headers={"host": name}).status_code == 200
    for name in ("evil.example", "127.0.0.1.evil.example", "[::1].evil.example", ""):
        assert client.get("/about", headers={"host": name}).status_code == 421


def test_the_page_may_load_nothing_from_elsewhere(client: TestClient) -> None:
    answer = client.get("/")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    for path in ("/", "/static/page.css", "/static/page.js", "/static/api.js", "/static/draw.js", "/static/keys.js"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "innerHTML" not in answer.text
        assert "http" not in answer.text.replace("http://www.w3.org/2000/svg", "")


def test_a_wrong_way_of_asking_is_refused(client: TestClient) -> None:
    assert client.get("/search").status_code == 405
    assert client.put("/items").status_code == 405
    assert client.post("/search", content="x", headers={"content-type": "text/csv"}).status_code == 415
    assert "GET" in client.get("/nowhere").json()["error"]


def test_an_error_of_ours_is_no_secret_and_no_end(shop: Collection, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Exception):
        pass

    def broken() -> None:
        raise Broken("its words are for the log")

    app = create_app(shop)
    app.add_route("/broken", lambda request: broken())
    client = TestClient(app)
    answer = client.get("/broken")
    assert (answer.status_code, "log says why" in answer.json()["error"]) == (500, True)
    assert "its words" not in answer.text
    assert "its words are for the log" in caplog.text
    assert "nosniff" in answer.headers["x-content-type-options"]
    assert client.get("/health").status_code == 200


HOSTILE: list[tuple[str, Any]] = [
    ("a vector of the wrong width", {"vector": [1.0] * 11}),
    ("no vector", {"vector": []}),
    ("numbers too large", {"vector": [1e308] * 12}),
    ("a huge k", {"id": "item/1", "k": 10**18}),
    ("a negative k", {"id": "item/1", "k": -1}),
    ("more neighbours than allowed", {"vectors": [[0.0] * 12] * 41, "k": 50}),
    ("more neighbours than allowed with details", {"vectors": [[0.0] * 12] * 5, "k": 50, "details": True}),
    ("an unknown choice", {"id": "item/1", "bits": 20}),
    ("a path as id", {"id": "../../../etc/passwd"}),
    ("SQL as id", {"id": "item/1'; DROP TABLE item; --"}),
    ("an order of no code", {"id": "item/1", "order": "asymmetric"}),
    ("markup as order", {"vector": [1.0] * 12, "order": "<script>alert(1)</script>"}),
    ("a side that the model has not", {"vector": [1.0] * 12, "side": "source"}),
    ("a lone surrogate", '{"id": "\\ud800"}'),
    ("NaN", '{"vector": [NaN' + ", 0" * 11 + "]}"),
    ("infinity", '{"vector": [1e999' + ", 0" * 11 + "]}"),
    ("malformed JSON", '{"vector": [1,'),
    ("nothing", ""),
    ("deep nesting", "[" * 50_000),
    ("not UTF-8", b"\xff\xfe\xfd"),
    ("a large body", b" " * 100_001),
]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "body"), HOSTILE, ids=[what for what, _ in HOSTILE])
def test_a_hostile_search_is_refused_and_the_server_goes_on(what: str, body: Any, server: Server) -> None:
    status, answer = server.ask("/search", body, **{"content-type": "application/json"})
    assert 400 <= status < 500, what
    assert 10 < len(json.loads(answer)["error"]) < 400
    assert server.ask("/search", {"id": "item/1"})[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/page.css%00.html",
        "/items/../../etc/passwd/picture",
        "/items/99999999999999999999999999/picture",
        "/items?limit=100000000",
        "/items?limit=1e3",
        "/items?offset=-1",
        "/items?offset=" + "9" * 5000,
        "//etc/passwd",
    ],
)
def test_path_tricks_are_refused(path: str, server: Server) -> None:
    status, answer = server.ask(path)
    assert 400 <= status < 500
    assert b"root:" not in answer
    assert json.loads(answer)["error"]
    assert server.ask("/health")[0] == 200


@pytest.mark.slow
def test_an_endless_body_is_cut_off(server: Server) -> None:
    """Chunks without an announced length: refused once they are more than allowed."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest("POST", "/search")
    connection.putheader("transfer-encoding", "chunked")
    connection.endheaders()
    sent = 0
    try:
        while sent < 50_000_000:
            connection.send(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            sent += 0x10000
    except OSError:
        pass
    assert sent < 50_000_000
    assert server.ask("/health")[0] == 200


@pytest.mark.slow
def test_a_body_that_does_not_arrive_is_given_up(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest("POST", "/search")
    connection.putheader("content-length", "100")
    connection.endheaders()
    connection.send(b'{"id"')
    answer = connection.getresponse()
    assert answer.status == 408
    assert "2 seconds" in json.loads(answer.read())["error"]


@pytest.mark.slow
def test_behind_two_lengths_of_a_body_nothing_is_a_request(server: Server) -> None:
    """A proxy may go by one of them and the server by the other: the rest would be another client's request."""
    body, text = b'{"id": "item/1"}', b"GET /about HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    both = [b"Content-Length: %d" % (len(chunk) + len(text)), b"Transfer-Encoding: chunked"]
    for order in (both, both[::-1]):
        with server.connect(10) as connection:
            head = b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"\r\n".join(order) + b"\r\n\r\n"
            connection.sendall(head + chunk + text)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.slow
def test_large_bodies_wait_outside_and_small_ones_do_not(server: Server) -> None:
    """Four bodies of the largest size are held at a time; the time limit ends them."""
    head = b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"
    held = [server.connect(10) for _ in range(5)]
    try:
        for connection in held:
            connection.sendall(head + b" " * 99_000)
        assert server.ask("/search", {"id": "item/1"})[0] == 200
        answers = [connection.recv(65536)[:12] for connection in held]
        assert sorted(answers) == [b"HTTP/1.1 408"] * 4 + [b"HTTP/1.1 503"]
    finally:
        for connection in held:
            connection.close()
    assert server.ask("/search", b" " * 90_000 + b'{"id": "item/1"}')[0] == 200  # the room is free again
