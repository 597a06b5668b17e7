"""Adding and removing items by requests: on disk when answered, refused with a reason otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("httpx", reason="needs httpx: pip install httpx")

from fastapi.testclient import TestClient

import thpi
from thpi.index import HammingIndex
from thpi.web import Catalogue, Engine, Settings, create_app

TOKEN = "open sesame"
X = np.random.RandomState(0).standard_normal((60, 6))
HASHER = thpi.LSH(n_bits=12, random_state=0).fit(X)


def make(path: Path, ids: Any, *, any_model: bool = False, mode: str = "shared", **settings: Any) -> TestClient:
    if not path.exists():
        index = HammingIndex(12, model=None if any_model else HASHER.fingerprint_)
        index.add(HASHER.transform(X[: len(ids)]), ids)
        index.save(path)
    engine = Engine(HASHER, HammingIndex.open(path, mode), any_model)  # type: ignore[arg-type]
    chosen = Settings(**{"token": TOKEN, "writable": True, "max_batch": 5, "max_body": 10_000} | settings)
    headers = {"authorization": f"Bearer {TOKEN}"}
    return TestClient(create_app(Catalogue("shop", (engine,)), chosen), headers=headers)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.index"


@pytest.fixture
def client(path: Path) -> TestClient:
    return make(path, [f"n{i}" for i in range(20)])


def test_vectors_and_codes_are_added_and_found(client: TestClient, path: Path) -> None:
    answer = client.post("/items", json={"ids": ["v0", "v1"], "vectors": X[30:32].tolist()})
    assert answer.status_code == 201
    on_disk = HammingIndex.open(path)
    assert answer.json() == {"ids": ["v0", "v1"], "items": 22, "version": on_disk.version}
    np.testing.assert_array_equal(on_disk.get_codes(["v0", "v1"]), HASHER.transform(X[30:32]))
    code = HASHER.transform(X[40:41]).tobytes().hex()
    answer = client.post("/items", json={"ids": ["c"], "codes": [code], "model": HASHER.fingerprint_})
    assert answer.status_code == 201
    np.testing.assert_array_equal(HammingIndex.open(path).get_codes(["c"]), HASHER.transform(X[40:41]))
    found = client.post("/search", json={"vector": X[40].tolist(), "k": 20}).json()["results"][0]["neighbours"]
    assert {"id": "c", "distance": 0} in found
    assert client.get("/healthz").json()["version"] == answer.json()["version"]


def test_items_are_removed(client: TestClient, path: Path) -> None:
    answer = client.delete("/items/n3")
    assert answer.status_code == 200
    on_disk = HammingIndex.open(path)
    assert answer.json() == {"ids": ["n3"], "items": 19, "version": on_disk.version}
    assert "n3" not in on_disk
    assert client.delete("/items/n3").status_code == 404
    assert client.post("/search", json={"id": "n3"}).status_code == 404


def test_numbers_as_ids(path: Path) -> None:
    client = make(path, [-5, 0, 7])
    sent = {"ids": [2**63 - 1, -(2**63)], "vectors": X[:2].tolist()}
    assert client.post("/items", json=sent).json()["ids"] == sent["ids"]
    assert client.post("/items", json={"vectors": X[:1].tolist()}).status_code == 422  # no number is left
    assert client.delete(f"/items/{2**63 - 1}").status_code == 200
    assert client.post("/items", json={"vectors": X[:2].tolist()}).json()["ids"] == [8, 9]
    for item in ("07", "+7", "7.0", "1e3", str(2**63), "9" * 400, "x"):
        assert client.delete(f"/items/{item}").status_code == 404, item
    assert client.delete("/items/-5").json()["ids"] == [-5]
    assert HammingIndex.open(path).ids.tolist() == [0, 7, -(2**63), 8, 9]


VECTOR = X[0].tolist()
WRONG: list[tuple[Any, int, str]] = [
    ({"ids": ["n0"], "vectors": [VECTOR]}, 409, "'n0' is in the index already"),
    ({"ids": ["new", "new"], "vectors": [VECTOR] * 2}, 422, "'new' occurs more than once"),
    ({"ids": ["new", "n0"], "vectors": [VECTOR] * 2}, 409, "'n0'"),
    ({"ids": [7], "vectors": [VECTOR]}, 422, "of kind int64"),
    ({"ids": ["a", 7], "vectors": [VECTOR] * 2}, 422, "all integers"),
    ({"ids": ["a"], "vectors": [VECTOR] * 2}, 422, "one id per code"),
    ({"ids": [True], "vectors": [VECTOR]}, 422, ""),
    ({"ids": [None], "vectors": [VECTOR]}, 422, ""),
    ({"ids": "a", "vectors": [VECTOR]}, 422, "ids="),
    ({"vectors": [VECTOR]}, 422, "the ids stored here are strings"),
    ({"ids": [], "vectors": []}, 422, "vectors"),
    ({"ids": ["a"], "vectors": [VECTOR[:5]]}, 422, "a vector must have 6 numbers; got 5"),
    ({"ids": ["a"], "vectors": [[1e308] * 6]}, 422, "not finite"),
    ({"ids": list("abcdef"), "vectors": [VECTOR] * 6}, 422, "at most 5"),
    ({"ids": ["a"]}, 422, "by vectors or by codes"),
    ({"ids": ["a"], "vectors": [VECTOR], "codes": ["0000"]}, 422, "by vectors or by codes"),
    ({"ids": ["a"], "vectors": [VECTOR], "weight": 1}, 422, "'weight' is not known; a request has ids, vectors"),
    ({"ids": ["a"], "vectors": [VECTOR], "model": "0d1f6f3f1c8e9b7a"}, 409, HASHER.fingerprint_),
    ({"ids": ["a"], "codes": ["0000"], "model": "0d1f6f3f1c8e9b7a"}, 409, HASHER.fingerprint_),
    ({"ids": ["a"], "codes": ["0000"]}, 409, "does not say which model"),
    ({"ids": ["a"], "codes": ["000000"], "model": HASHER.fingerprint_}, 422, "2 bytes"),
    ({"ids": ["a"], "codes": ["00f0"], "model": HASHER.fingerprint_}, 422, "padding"),
    ({"ids": ["a"], "codes": ["zz00"], "model": HASHER.fingerprint_}, 422, "hexadecimal"),
    ({"ids": [], "codes": []}, 422, "1 to 5"),
    ({"ids": list("abcdef"), "codes": ["0000"] * 6, "model": HASHER.fingerprint_}, 422, "1 to 5"),
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
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert len(answer.json()["error"]) < 400
    assert path.read_bytes() == before
    assert client.get("/healthz").json()["items"] == 20


def test_other_kinds_of_bodies_are_refused(client: TestClient) -> None:
    assert client.post("/items", content="1,2", headers={"content-type": "text/csv"}).status_code == 415


def test_codes_of_an_unknown_model_go_to_an_index_of_one(path: Path) -> None:
    client = make(path, ["a"], any_model=True)
    assert client.post("/items", json={"ids": ["b"], "codes": ["0000"]}).status_code == 201
    assert client.post("/items", json={"ids": ["c"], "vectors": [VECTOR]}).status_code == 201


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
    client = make(path, ["a"], writable=False, mode="r")
    for answer in (client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]}), client.delete("/items/a")):
        assert answer.status_code == 403
        assert "--writable" in answer.json()["error"]


def test_a_server_that_cannot_write_does_not_start(path: Path, demo: Catalogue) -> None:
    with pytest.raises(ValueError, match="opened with mode='r'"):
        make(path, ["a"], mode="r")
    with pytest.raises(ValueError, match="one engine"):
        create_app(demo, Settings(token=TOKEN, writable=True))


def test_another_writer_is_waited_for_or_named(client: TestClient, path: Path) -> None:
    with HammingIndex.open(path, "a") as other:
        answer = client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]})
        assert answer.status_code == 503
        assert "another process is writing" in answer.json()["error"]
        other.add(HASHER.transform(X[:1]), ["theirs"])
    assert client.post("/items", json={"ids": ["theirs"], "vectors": [VECTOR]}).status_code == 409
    assert client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]}).status_code == 201
    assert HammingIndex.open(path).ids[-2:].tolist() == ["theirs", "b"]


def test_a_replaced_index_of_another_model_is_not_written(client: TestClient, path: Path) -> None:
    HammingIndex(12, model="0d1f6f3f1c8e9b7a").save(path)
    answer = client.post("/items", json={"ids": ["b"], "vectors": [VECTOR]})
    assert answer.status_code == 503
    assert "0d1f6f3f1c8e9b7a" in answer.json()["error"]
    assert len(HammingIndex.open(path)) == 0
    assert client.post("/search", json={"id": "n1"}).status_code == 200  # from what was read before


def test_programs_are_told(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"400", "401", "403", "409", "413", "415", "422", "503"} <= set(paths["/items"]["post"]["responses"])
    assert "codes" in paths["/items"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert {"403", "404"} <= set(paths["/items/{item}"]["delete"]["responses"])


def test_items_of_a_two_sided_model_come_as_source_rows(tmp_path: Path, client: TestClient) -> None:
    rng = np.random.RandomState(0)
    S = rng.standard_normal((60, 3))
    hasher = thpi.TwoSidedITQ(8, random_state=0).fit(S @ rng.standard_normal((3, 5)), privileged=S)
    index = HammingIndex(8, model=hasher.fingerprint_)
    index.add(hasher.transform_source(S[:50]))
    index.save(tmp_path / "sides.index")
    opened = HammingIndex.open(tmp_path / "sides.index", "shared")
    chosen, headers = Settings(token=TOKEN, writable=True), {"authorization": f"Bearer {TOKEN}"}
    sided = TestClient(create_app(Catalogue("shop", (Engine(hasher, opened),)), chosen), headers=headers)
    added = sided.post("/items", json={"vectors": S[50:].tolist(), "side": "source"})
    assert added.status_code == 201, added.text
    assert len(opened) == 60
    found = HammingIndex.open(tmp_path / "sides.index")
    np.testing.assert_array_equal(found.get_codes(range(60)), hasher.transform_source(S))
    wide = sided.post("/items", json={"vectors": [[0.0] * 5], "side": "source"})
    assert (wide.status_code, "3 numbers; got 5" in wide.text) == (422, True)
    refused = client.post("/items", json={"vectors": [[0.0] * 6], "side": "source"})
    assert (refused.status_code, "codes target rows only" in refused.text) == (422, True)
