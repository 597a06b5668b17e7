"""Adding and removing items by requests: on disk when answered, refused with a reason otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("httpx", reason="needs httpx: pip install httpx")

from starlette.testclient import TestClient

import thpi
from thpi.collection import write
from thpi.web import Settings, create_app

TOKEN = "open sesame"
X = np.random.RandomState(0).standard_normal((60, 6))
HASHER = thpi.LSH(n_bits=12, random_state=0).fit(X)
MODEL = HASHER.fingerprint_


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "shop.thpi", HASHER, HASHER.transform(X[:20]), [f"n{i}" for i in range(20)], about={})
    return tmp_path / "shop.thpi"


def make(path: Path, **settings: Any) -> TestClient:
    chosen = Settings(**{"token": TOKEN, "writable": True, "max_neighbours": 500, "max_body": 10_000} | settings)
    return TestClient(create_app(thpi.open(path), chosen), headers={"authorization": f"Bearer {TOKEN}"})


@pytest.fixture
def client(path: Path) -> TestClient:
    return make(path)


def on_disk(path: Path, read: Callable[[Any], Any]) -> Any:
    with thpi.open(path) as collection:
        return read(collection)


def test_vectors_and_codes_are_added_and_found(client: TestClient, path: Path) -> None:
    answer = client.post("/items", json={"ids": ["v0", "v1"], "vectors": X[30:32].tolist()})
    assert answer.status_code == 201
    version = on_disk(path, lambda shop: shop.version)
    assert answer.json() == {"ids": ["v0", "v1"], "items": 22, "version": version}
    np.testing.assert_array_equal(on_disk(path, lambda shop: shop.codes_of(["v0", "v1"])), HASHER.transform(X[30:32]))
    code = HASHER.transform(X[40:41]).tobytes().hex()
    answer = client.post("/items", json={"ids": ["c"], "codes": [code], "model": MODEL})
    assert answer.status_code == 201
    np.testing.assert_array_equal(on_disk(path, lambda shop: shop.codes_of(["c"])), HASHER.transform(X[40:41]))
    found = client.post("/search", json={"vector": X[40].tolist(), "k": 20}).json()["results"][0]["neighbours"]
    assert {"id": "c", "distance": 0} in found
    assert client.get("/health").json()["version"] == answer.json()["version"]


def test_items_are_removed(client: TestClient, path: Path) -> None:
    answer = client.delete("/items/n3")
    assert answer.status_code == 200
    assert answer.json() == {"ids": ["n3"], "items": 19, "version": on_disk(path, lambda shop: shop.version)}
    assert not on_disk(path, lambda shop: "n3" in shop)
    assert client.delete("/items/n3").status_code == 404
    assert client.post("/search", json={"id": "n3"}).status_code == 404


def test_ids_with_signs_have_an_address(client: TestClient) -> None:
    for item in ("a/b", "picture", "x/picture", "ä ?#%", "..", " "):
        assert client.post("/items", json={"ids": [item], "vectors": [X[0].tolist()]}).status_code == 201
        answer = client.delete(f"/items/{quote(item, safe='')}".replace("..", "%2e%2e"))
        assert (answer.status_code, answer.json()["ids"]) == (200, [item]), item


def test_numbers_as_ids(tmp_path: Path) -> None:
    path = tmp_path / "numbers.thpi"
    write(path, HASHER, HASHER.transform(X[:3]), [-5, 0, 7], about={})
    client = make(path)
    sent = {"ids": [2**63 - 1, -(2**63)], "vectors": X[:2].tolist()}
    assert client.post("/items", json=sent).json()["ids"] == sent["ids"]
    assert client.delete(f"/items/{2**63 - 1}").status_code == 200
    assert client.post("/items", json={"vectors": X[:2].tolist()}).json()["ids"] == [8, 9]
    for item in ("07", "+7", "7.0", "1e3", str(2**63), "9" * 400, "x"):
        assert client.delete(f"/items/{item}").status_code == 404, item
    assert client.delete("/items/-5").json()["ids"] == [-5]
    assert on_disk(path, lambda shop: shop.ids.tolist()) == [0, 7, -(2**63), 8, 9]


VECTOR = X[0].tolist()
WRONG: list[tuple[Any, int, str]] = [
    ({"ids": ["n0"], "vectors": [VECTOR]}, 409, "'n0' is in the collection already"),
    ({"ids": ["new", "new"], "vectors": [VECTOR] * 2}, 422, "'new' occurs more than once"),
    ({"ids": ["new", "n0"], "vectors": [VECTOR] * 2}, 409, "'n0'"),
    ({"ids": [7], "vectors": [VECTOR]}, 422, "ids"),
    ({"ids": ["a", 7], "vectors": [VECTOR] * 2}, 422, "all integers"),
    ({"ids": ["a"], "vectors": [VECTOR] * 2}, 422, "one id per code"),
    ({"ids": [True], "vectors": [VECTOR]}, 422, "ids=True must be"),
    ({"ids": [None], "vectors": [VECTOR]}, 422, "ids=None must be"),
    ({"ids": "a", "vectors": [VECTOR]}, 422, "ids='a' must be a list"),
    ({"vectors": [VECTOR]}, 422, "pass ids"),
    ({"ids": [], "vectors": []}, 422, "vectors"),
    ({"ids": ["a"], "vectors": [VECTOR[:5]]}, 422, "a vector must have 6 numbers; got 5"),
    ({"ids": ["a"], "vectors": [[1e308] * 6]}, 422, "not finite"),
    ({"ids": ["a"]}, 422, "one of vectors, codes; got none"),
    ({"ids": ["a"], "vectors": [VECTOR], "codes": ["0000"]}, 422, "got vectors, codes"),
    ({"ids": ["a"], "vectors": [VECTOR], "weight": 1}, 422, "'weight' is not known; a request has vectors, codes"),
    ({"ids": ["a"], "vectors": [VECTOR], "model": "0d1f6f3f1c8e9b7a"}, 409, MODEL),
    ({"ids": ["a"], "vectors": [VECTOR], "side": "source"}, 422, "codes target rows only"),
    ({"ids": ["a"], "codes": ["0000"], "model": MODEL, "side": "source"}, 422, "side='source' must be 'target'"),
    ({"ids": ["a"], "codes": ["0000"], "model": "0d1f6f3f1c8e9b7a"}, 409, MODEL),
    ({"ids": ["a"], "codes": ["0000"]}, 409, "does not say which model"),
    ({"ids": ["a"], "codes": ["000000"], "model": MODEL}, 422, "codes"),
    ({"ids": ["a"], "codes": ["00f0"], "model": MODEL}, 422, "padding"),
    ({"ids": ["a"], "codes": ["zz00"], "model": MODEL}, 422, "hexadecimal"),
    ({"ids": [], "codes": [], "model": MODEL}, 422, "hexadecimal"),
    ({"ids": [str(i) for i in range(501)], "codes": ["0000"] * 501, "model": MODEL}, 422, "at most 500"),
    ('{"ids": ["\\ud800"], "vectors": [[0,0,0,0,0,0]]}', 422, "lone surrogate"),
    ("[1]", 422, "JSON object"),
    ("{", 400, "JSON"),
    (b" " * 10_001, 413, "10000"),
]


@pytest.mark.parametrize(("body", "status", "message"), WRONG)
def test_what_is_wrong_is_named_and_nothing_is_added(
    client: TestClient, path: Path, body: Any, status: int, message: str
) -> None:
    before = path.read_bytes()
    answer = client.post("/items", json=body) if isinstance(body, dict) else client.post("/items", content=body)
    assert (answer.status_code, message in answer.json()["error"]) == (status, True), answer.text
    assert len(answer.json()["error"]) < 400
    assert path.read_bytes() == before
    assert client.get("/health").json()["items"] == 20


def test_nobody_changes_anything_without_a_token(client: TestClient, path: Path) -> None:
    before = path.read_bytes()
    for headers in ({"authorization": ""}, {"authorization": "Bearer wrong token"}):
        sent = {"ids": ["a"], "vectors": [VECTOR]}
        assert client.post("/items", json=sent, headers=headers).status_code == 401
        assert client.delete("/items/n0", headers=headers).status_code == 401
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="writable=True needs a token"):
        Settings(writable=True)


def test_a_server_is_read_only_unless_it_is_told_otherwise(path: Path) -> None:
    client = make(path, writable=False)
    for answer in (client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]}), client.delete("/items/n1")):
        assert answer.status_code == 403
        assert "--writable" in answer.json()["error"]


def test_another_writer_is_waited_for_or_named(path: Path) -> None:
    chosen = Settings(token=TOKEN, writable=True)
    headers = {"authorization": f"Bearer {TOKEN}"}
    client = TestClient(create_app(thpi.open(path, wait=0.1), chosen), headers=headers)
    with thpi.open(path) as other:
        with other._file.transaction(change=True):
            answer = client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]})
            assert (answer.status_code, "another process is writing" in answer.text) == (503, True)
            assert client.delete("/items/n0").status_code == 503
            assert client.post("/search", json={"id": "n0"}).status_code == 200
        other.add(X[:1], ["theirs"])
    assert client.post("/items", json={"ids": ["theirs"], "vectors": [VECTOR]}).status_code == 409
    assert client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]}).status_code == 201
    assert on_disk(path, lambda shop: shop.ids[-2:].tolist()) == ["theirs", "b"]


def test_vectors_that_another_model_coded_are_not_added(client: TestClient, path: Path) -> None:
    """The model is replaced in the file, and the server has not looked yet: its codes would mean nothing there."""
    other = thpi.LSH(n_bits=12, random_state=1).fit(X)
    with thpi.open(path) as shop:
        shop.replace(other, other.transform(X[:20]), shop.ids)
    answer = client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]})
    assert (answer.status_code, other.fingerprint_ in answer.text) == (409, True)
    assert client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]}).status_code == 201
    np.testing.assert_array_equal(on_disk(path, lambda shop: shop.codes_of(["b"])), other.transform(X[:1]))


def test_items_of_a_two_sided_model_come_as_source_rows(tmp_path: Path) -> None:
    rng = np.random.RandomState(0)
    S = rng.standard_normal((60, 3))
    hasher = thpi.TwoSidedITQ(8, random_state=0).fit(S @ rng.standard_normal((3, 5)), privileged=S)
    path = tmp_path / "sides.thpi"
    write(path, hasher, hasher.transform_source(S[:50]), range(50), about={})
    client = make(path)
    assert client.get("/about").json()["source_features"] == 3
    added = client.post("/items", json={"vectors": S[50:].tolist(), "side": "source"})
    assert added.status_code == 201, added.text
    np.testing.assert_array_equal(on_disk(path, lambda shop: shop.codes_of(range(60))), hasher.transform_source(S))
    wide = client.post("/items", json={"vectors": [[0.0] * 5], "side": "source"})
    assert (wide.status_code, "3 numbers; got 5" in wide.text) == (422, True)
    # Searches by source rows, too, beside those by target rows.
    expected = thpi.open(path).search_codes(hasher.source_side.decision_function(S[:2]), 4)
    for body, kind in (
        ({"vectors": S[:2].tolist(), "k": 4, "side": "source"}, None),
        (S[:2].astype("<f4").tobytes(), "application/octet-stream"),
    ):
        if kind is None:
            answer = client.post("/search", json=body)
        else:
            answer = client.post("/search?side=source&k=4", content=body, headers={"content-type": kind})
        ids = [[hit["id"] for hit in result["neighbours"]] for result in answer.json()["results"]]
        assert ids == expected.ids.tolist()
