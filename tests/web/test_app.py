"""The addresses and what they answer, also to hostile requests: always 4xx with a message, and the server goes on."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import pytest

pytest.importorskip("httpx", reason="needs httpx: pip install httpx")

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

import thpi
from thpi.index import HammingIndex, Neighbours
from thpi.web import Catalogue, Engine, Settings, create_app


@pytest.fixture(scope="module")
def client(demo: Catalogue) -> TestClient:
    return TestClient(create_app(demo, Settings(max_body=100_000, max_k=50, max_batch=10)))


@pytest.fixture(scope="module")
def address(demo: Catalogue, live: Callable[..., str]) -> str:
    return live(demo, Settings(max_body=100_000, max_k=50, max_batch=10, max_neighbours=2000, time_limit=1.0))


def test_health_and_description(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok", "items": 2000, "version": None}
    about = client.get("/about").json()
    assert (about["n_features"], about["bits"], len(about["quality"])) == (240, [16, 32], 2 * 2 * len(thpi.HASHERS))


def test_vector_id_and_batch_agree(client: TestClient, demo: Catalogue) -> None:
    assert demo.items is not None
    X = demo.items.target[:3]

    def found(answer: Any) -> list[Any]:
        """Ids and distances; a product of several rows may add up in another order than that of one row."""
        hits = [result["neighbours"] for result in answer.json()["results"]]
        return [[(hit["id"], pytest.approx(hit["distance"], rel=1e-9)) for hit in some] for some in hits]

    one = [found(client.post("/search", json={"vector": x.tolist(), "k": 4}))[0] for x in X]
    assert found(client.post("/search", json={"vectors": X.tolist(), "k": 4})) == one
    stream = io.BytesIO()
    np.save(stream, X)
    headers = {"content-type": "application/x-npy"}
    assert found(client.post("/search?k=4", content=stream.getvalue(), headers=headers)) == one
    csv = "\n".join(",".join(map(str, x)) for x in X)
    assert found(client.post("/search?k=4", content=csv, headers={"content-type": "text/csv"})) == one
    # The item itself is at distance 0, and a search by its id leaves it out.
    (by_id,) = found(client.post("/search", json={"id": 0, "k": 3}))
    assert by_id == [hit for hit in one[0] if hit[0] != 0][:3]


BYTES = "application/octet-stream"


def test_programs_may_send_bytes_and_get_bytes(client: TestClient, demo: Catalogue) -> None:
    assert demo.items is not None
    X = np.asarray(demo.items.target[:3], dtype="<f4")
    engine = demo.engine("ITQ", 16)
    where = {"method": "ITQ", "bits": "16", "k": "4"}
    codes = engine.hasher.transform(X)
    for order, content, body in (
        ("asymmetric", {}, X.tobytes()),
        ("asymmetric", {"content": "vectors"}, X.tobytes()),
        ("hamming", {"order": "hamming"}, X.tobytes()),
        ("hamming", {"content": "codes", "model": engine.hasher.fingerprint_}, codes.tobytes()),
    ):
        headers = {"content-type": BYTES, "accept": BYTES}
        answer = client.post("/search", params={**where, **content}, content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (200, BYTES), answer.text
        assert answer.headers["x-thpi-order"] == order
        ids = np.frombuffer(answer.content[: 3 * 4 * 8], dtype="<i8").reshape(3, 4)
        distances = np.frombuffer(answer.content[3 * 4 * 8 :], dtype="<f4").reshape(3, 4)
        expected = engine.index.search(engine.hasher.decision_function(X.astype(np.float64)), 4, order=order)
        np.testing.assert_array_equal(ids, expected.ids)
        np.testing.assert_allclose(distances, expected.distances, rtol=1e-6)
        as_json = client.post("/search", params={**where, **content}, content=body, headers={"content-type": BYTES})
        assert [[n["id"] for n in result["neighbours"]] for result in as_json.json()["results"]] == ids.tolist()
    by_text = {"codes": [code.tobytes().hex() for code in codes], "model": engine.hasher.fingerprint_, "bits": 16}
    found = client.post("/search", json={**by_text, "method": "ITQ", "k": 4}).json()
    assert [[n["id"] for n in result["neighbours"]] for result in found["results"]] == ids.tolist()


@pytest.mark.parametrize(
    ("params", "body", "status", "message"),
    [
        ({}, b"", 422, "0 bytes; it must hold vectors of 240 float32 numbers, 960 bytes each"),
        ({}, b"1234", 422, "4 bytes"),
        ({"content": "words"}, b"1234", 422, "content='words' must be vectors or codes"),
        ({"content": "codes", "bits": "16", "method": "ITQ"}, b"123", 422, "codes of 16 bits, 2 bytes each"),
        ({"content": "codes", "bits": "16", "method": "ITQ"}, b"1234", 409, "model"),
        ({"content": "codes", "bits": "-1"}, b"1234", 422, "bits='-1'"),
        ({"content": "codes", "bits": "17"}, b"1234", 422, "bits=17 is not served"),
        ({}, np.full(240, np.nan, dtype="<f4").tobytes(), 422, "must be finite"),
    ],
)
def test_wrong_bytes_are_refused(
    client: TestClient, params: dict[str, str], body: bytes, status: int, message: str
) -> None:
    answer = client.post("/search", params=params, content=body, headers={"content-type": BYTES})
    assert (answer.status_code, message in answer.json()["error"]) == (status, True), answer.text


def test_ids_that_are_texts_have_no_bytes(shop: Catalogue) -> None:
    answer = TestClient(create_app(shop)).post("/search", json={"id": "item/3"}, headers={"accept": BYTES})
    assert (answer.status_code, "accept JSON" in answer.json()["error"]) == (406, True)


def test_items_pictures_and_vectors(client: TestClient, demo: Catalogue) -> None:
    assert demo.items is not None
    page = client.get("/items", params={"label": "7", "limit": 5, "offset": 2}).json()
    assert len(page["items"]) == 5
    assert {item["label"] for item in page["items"]} == {"7"}
    number = page["items"][0]["id"]
    picture = client.get(f"/items/{number}/picture")
    assert picture.headers["content-type"] == "image/png"
    assert client.get(f"/items/{number}/vector").json() == demo.items.target[number].tolist()


def test_pictures_of_ones_own_items(shop: Catalogue, tmp_path: Path) -> None:
    """Text ids, also one with a slash, whose file cannot exist; nothing outside the folder is ever read."""
    (tmp_path / "pictures").mkdir()
    (tmp_path / "secret.png").write_bytes(b"\x89PNG\r\n\x1a\nsecret")
    first, second, third = shop.engines[0].index.ids[:3]
    files = {first: tmp_path / "pictures" / "1.png", third: tmp_path / "pictures" / "gone.png"}
    files[first].write_bytes(b"\x89PNG\r\n\x1a\n")
    client = TestClient(create_app(replace(shop, pictures=files)))
    shown = {item["id"]: item["picture"] for item in client.get("/items", params={"limit": 3}).json()["items"]}
    assert shown == {first: True, second: False, third: True}
    answer = client.get(f"/items/{quote(first, safe='')}/picture")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.content == files[first].read_bytes()
    for item in (second, third, "../secret", f"{tmp_path}/secret", "1", ""):
        answer = client.get(f"/items/{quote(item, safe='')}/picture")
        assert (answer.status_code, "with a picture" in answer.json()["error"]) == (404, True), item


def test_metrics_are_prometheus_text_and_count(demo: Catalogue) -> None:
    client = TestClient(create_app(demo))
    for _ in range(3):
        client.post("/search", json={"id": 1})
    client.post("/search", content="{")
    client.get("/nowhere/at/all")
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
    }
    assert samples["thpi_requests_total", ("route", "/search"), ("status", "200")] == 3
    assert samples["thpi_requests_total", ("route", "/search"), ("status", "400")] == 1
    assert samples["thpi_requests_total", ("route", "other"), ("status", "404")] == 1
    assert samples["thpi_queries_total",] == 3
    assert samples["thpi_index_codes", ("bits", "32"), ("method", "ITQ")] == 2000
    assert samples["thpi_requests_in_progress",] == 1  # the request for the metrics itself


def test_the_description_for_programs_tells_all_forms_of_a_search(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) >= {"/search", "/healthz", "/metrics", "/items", "/about"}
    body = paths["/search"]["post"]["requestBody"]["content"]
    assert set(body) == {"application/json", "text/csv", "application/x-npy", "application/octet-stream"}
    assert client.get("/docs").status_code == 404  # would load scripts from elsewhere


def test_a_token_is_asked_for_where_one_is_set(demo: Catalogue) -> None:
    client = TestClient(create_app(demo, Settings(token="open sesame")))
    for path in ("/", "/static/page.js", "/healthz"):
        assert client.get(path).status_code == 200
    for path in ("/about", "/items", "/items/0/picture", "/items/0/vector", "/metrics", "/openapi.json", "/other"):
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic open sesame"}):
            answer = client.get(path, headers=headers)
            assert answer.status_code == 401
            assert "token" in answer.json()["error"]
    assert client.post("/search", json={"id": 1}).status_code == 401
    headers = {"authorization": "Bearer open sesame"}
    assert client.post("/search", json={"id": 1}, headers=headers).status_code == 200
    assert client.get("/metrics", headers=headers).status_code == 200


def test_another_host_name_is_refused(demo: Catalogue) -> None:
    client = TestClient(create_app(demo, Settings(host_names=("localhost", "127.0.0.1", "[::1]"))))
    for name in ("localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST:80"):
        assert client.get("/healthz", headers={"host": name}).status_code == 200
    for name in ("evil.example", "127.0.0.1.evil.example", "[::1].evil.example", ""):
        assert client.get("/about", headers={"host": name}).status_code == 421


def test_the_page_may_load_nothing_from_elsewhere(client: TestClient) -> None:
    answer = client.get("/")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    for path in ("/", "/static/page.css", "/static/page.js", "/static/api.js", "/static/draw.js", "/static/keys.js"):
        text = client.get(path).text
        assert "innerHTML" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


HOSTILE: list[tuple[str, Any]] = [
    ("a vector of the wrong width", {"vector": [1.0] * 239}),
    ("no vector", {"vector": []}),
    ("numbers too large", {"vector": [1e308] * 240}),
    ("a huge k", {"id": 1, "k": 10**18}),
    ("a negative k", {"id": 1, "k": -1}),
    ("too many vectors", {"vectors": [[0.0] * 240] * 11}),
    ("more neighbours than allowed", {"vectors": [[0.0] * 240] * 10, "k": 50, "details": True}),
    ("no bits", {"id": 1, "bits": 0}),
    ("no method", {"id": 1, "method": ""}),
    ("a path as id", {"id": "../../../etc/passwd"}),
    ("a path as method", {"id": 1, "method": "../../../etc/passwd\x00"}),
    ("SQL as method", {"id": 1, "method": "ITQ'; DROP TABLE codes; --"}),
    ("markup as method", {"id": 1, "method": "<script>alert(1)</script>"}),
    ("a lone surrogate", '{"id": 1, "method": "\\ud800"}'),
    ("NaN", '{"vector": [NaN' + ", 0" * 239 + "]}"),
    ("infinity", '{"vector": [1e999' + ", 0" * 239 + "]}"),
    ("malformed JSON", '{"vector": [1,'),
    ("nothing", ""),
    ("deep nesting", "[" * 50_000),
    ("not UTF-8", b"\xff\xfe\xfd"),
    ("a large body", b" " * 100_001),
]


@pytest.mark.parametrize(("what", "body"), HOSTILE, ids=[what for what, _ in HOSTILE])
def test_a_hostile_search_is_refused_and_the_server_goes_on(what: str, body: Any, address: str) -> None:
    data = json.dumps(body) if isinstance(body, dict) else body
    status, answer = _ask(address, "POST", "/search", data, {"content-type": "application/json"})
    assert 400 <= status < 500, what
    assert 10 < len(json.loads(answer)["error"]) < 400
    assert _ask(address, "POST", "/search", '{"id": 1}')[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/page.css%00.html",
        "/items/../../etc/passwd/picture",
        "/items/-1/picture",
        "/items/99999999999999999999999999/picture",
        "/items/1e3/vector",
        "/items?limit=100000000",
        "/items?offset=-1",
        "/items?label=..%2f..%2fetc",
        "/items?label=" + "x" * 5000,
        "//etc/passwd",
    ],
)
def test_path_tricks_are_refused(path: str, address: str) -> None:
    status, answer = _ask(address, "GET", path)
    assert 400 <= status < 500
    assert b"root:" not in answer
    assert json.loads(answer)["error"]
    assert _ask(address, "GET", "/healthz")[0] == 200


def test_an_endless_body_is_cut_off(address: str) -> None:
    """Chunks without an announced length: refused once they are more than allowed."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
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
    assert _ask(address, "GET", "/healthz")[0] == 200


def test_a_body_that_does_not_arrive_is_given_up(address: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    connection.putrequest("POST", "/search")
    connection.putheader("content-length", "100")
    connection.endheaders()
    connection.send(b'{"id"')
    answer = connection.getresponse()
    assert answer.status == 408
    assert "1 seconds" in json.loads(answer.read())["error"]


def test_a_search_that_takes_too_long_is_answered_in_time() -> None:
    """The index is held up until the answer is there: it comes after the limit, and others go on."""
    answered = threading.Event()

    class HeldUp(HammingIndex):
        n_searches = 0

        def search(self, *args: Any, **kwargs: Any) -> Neighbours:
            self.n_searches += 1
            assert answered.wait(30)
            return super().search(*args, **kwargs)

    hasher = thpi.LSH(n_bits=64, random_state=0).fit(np.eye(10, 4))
    index = HeldUp(64, model=hasher.fingerprint_)
    index.add(hasher.codes_)
    catalogue, running = Catalogue("slow", (Engine(hasher, index),)), set[threading.Thread]()
    with TestClient(create_app(catalogue, Settings(time_limit=0.2, n_threads=1))) as client:
        for _ in range(10):
            answer = client.post("/search", json={"vector": [1, 2, 3, 4]})
            assert answer.status_code == 503
            assert "0.2 seconds" in answer.json()["error"]
            running |= {thread for thread in threading.enumerate() if "AnyIO worker" in thread.name}
        assert client.get("/healthz").status_code == 200
        assert index.n_searches == 1, "the search that runs keeps its place"
        assert 1 <= len(running) <= 2
        answered.set()
        assert client.post("/search", json={"vector": [1, 2, 3, 4], "k": 3}).status_code == 200


def test_two_lengths_of_a_body_are_refused(address: str) -> None:
    """A proxy may go by one of them and the server by the other: the rest would be another client's request."""
    text = b"GET /about HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    both = [b"Content-Length: %d" % (5 + len(text)), b"Transfer-Encoding: chunked"]
    for order in (both, both[::-1]):
        with socket.create_connection(("127.0.0.1", urlsplit(address).port), timeout=10) as connection:
            head = b"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"\r\n".join(order) + b"\r\n\r\n"
            connection.sendall(head + b"0\r\n\r\n" + text)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1, "the rest is not a request"


def test_a_wrong_way_of_asking_is_refused(client: TestClient) -> None:
    assert client.get("/search").status_code == 405
    assert client.delete("/items").status_code == 405
    assert client.post("/search", content="x", headers={"content-type": "application/xml"}).status_code == 415
    assert "GET" in client.get("/nowhere").json()["error"]


def _ask(
    address: str, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """Send a request as it is: other clients tidy up paths."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content
