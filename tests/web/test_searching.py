from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import thpi
from thpi.codes import hamming_distances
from thpi.identity import ModelMismatchError
from thpi.index import HammingIndex, Neighbours, Order
from thpi.web import Catalogue, Engine
from thpi.web.errors import RequestError
from thpi.web.requests import SearchRequest
from thpi.web.searching import search, search_all


def _results(catalogue: Catalogue, request: SearchRequest) -> Any:
    return json.loads(search(catalogue, request).to_json())["results"]


def test_an_engine_needs_codes_of_one_length(shop: Catalogue) -> None:
    hasher = shop.engines[0].hasher
    with pytest.raises(ValueError, match=f"codes of {hasher.n_bits} bits and the index holds codes of 512"):
        Engine(hasher, HammingIndex(512))


@pytest.mark.parametrize("order", [None, "asymmetric", "hamming"])
def test_a_search_by_vector_is_that_of_the_index(
    shop: Catalogue, shop_vectors: np.ndarray, order: Order | None
) -> None:
    engine = shop.engines[0]
    answer = json.loads(search(shop, SearchRequest(vectors=shop_vectors[:5], k=7, order=order)).to_json())
    results = answer["results"]
    expected = engine.index.search(engine.hasher.decision_function(shop_vectors[:5]), 7, order=order)
    assert answer["order"] == (order or "asymmetric")
    assert [[n["id"] for n in result["neighbours"]] for result in results] == expected.ids.tolist()
    assert [[n["distance"] for n in result["neighbours"]] for result in results] == expected.distances.tolist()
    other = engine.index.search(engine.hasher.transform(shop_vectors[:5]), 7)
    assert (expected.ids.tolist() == other.ids.tolist()) == (order == "hamming")


def test_an_item_whose_vector_is_known_is_searched_by_it_and_left_out(demo: Catalogue) -> None:
    assert demo.items is not None
    row = int(demo.gallery[5])
    choices: dict[str, Any] = {"k": 8, "method": "ITQ", "bits": 32}
    (by_id,) = _results(demo, SearchRequest(id=row, **choices))
    (by_vector,) = _results(demo, SearchRequest(vectors=np.asarray(demo.items.target[[row]]), **choices | {"k": 9}))
    assert by_id["neighbours"] == [n for n in by_vector["neighbours"] if n["id"] != row][:8]
    (by_code,) = _results(demo, SearchRequest(id=row, order="hamming", **choices))
    assert all(isinstance(n["distance"], int) for n in by_code["neighbours"])


def test_an_item_of_which_the_code_alone_is_known_is_searched_by_hamming_distance(shop: Catalogue) -> None:
    assert json.loads(search(shop, SearchRequest(id="item/17")).to_json())["order"] == "hamming"
    with pytest.raises(RequestError, match="the vector of item 'item/17' is not known") as caught:
        search(shop, SearchRequest(id="item/17", order="asymmetric"))
    assert caught.value.status == 404


@pytest.mark.parametrize("k", [1, 10, 199, 200, 500])
def test_a_search_by_id_leaves_the_item_out_and_no_other(shop: Catalogue, k: int) -> None:
    index = shop.engines[0].index
    distances = hamming_distances(index.codes[[17]], index.codes)[0]
    order = [i for i in np.argsort(distances, kind="stable") if i != 17][:k]
    (result,) = _results(shop, SearchRequest(id="item/17", k=k))
    assert [(n["id"], n["distance"]) for n in result["neighbours"]] == [(f"item/{i}", int(distances[i])) for i in order]


def test_a_search_by_id_shows_the_item_itself_if_asked(shop: Catalogue) -> None:
    (result,) = _results(shop, SearchRequest(id="item/17", k=200, include_self=True))
    assert {"id": "item/17", "distance": 0} in result["neighbours"]
    assert len(result["neighbours"]) == 200


@pytest.mark.parametrize("often", [1, 100])
def test_an_item_that_is_removed_during_a_search_does_not_stop_it(shop: Catalogue, often: int) -> None:
    class Removing(HammingIndex):
        n_searches = 0

        def search(self, queries: Any, k: int = 10, **options: Any) -> Neighbours:
            found = super().search(queries, k, **options)
            self.n_searches += 1
            if self.n_searches <= often:
                self.remove(found.ids[0, :1])
            return found

    engine = shop.engines[0]
    index = Removing(20, model=engine.index.model)
    index.add(engine.index.codes, engine.index.ids)
    busy = Catalogue("busy", (Engine(engine.hasher, index),))
    request = SearchRequest(vectors=np.ones((1, 12)), k=5, details=True)
    if often == 1:
        (result,) = _results(busy, request)
        assert all(neighbour["id"] in index for neighbour in result["neighbours"])
    else:
        with pytest.raises(RequestError, match="removed faster") as caught:
            search(busy, request)
        assert caught.value.status == 503


@pytest.mark.parametrize("order", ["asymmetric", "hamming"])
@pytest.mark.parametrize("stop", [2, 5])
def test_a_search_that_nobody_waits_for_ends_between_its_results(shop: Catalogue, order: Order, stop: int) -> None:
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == stop:
            raise InterruptedError

    request = SearchRequest(vectors=np.ones((10, 12)), k=5, order=order, details=True)
    with pytest.raises(InterruptedError):
        search(shop, request, check)
    assert len(calls) == stop
    assert len(_results(shop, request)) == 10


def test_searches_that_come_together_are_answered_like_each_alone(shop: Catalogue, shop_vectors: np.ndarray) -> None:
    index, n = shop.engines[0].index, 12
    many = np.stack([np.roll(shop_vectors[0], i) for i in range(n)])
    wrong = SearchRequest(vectors=np.ones((1, 5)))
    huge = SearchRequest(vectors=np.full((1, 12), 1e308))
    requests = [
        *(SearchRequest(vectors=many[[i]], k=1 + i) for i in range(n)),
        wrong,
        SearchRequest(vectors=many, k=3, details=True),
        SearchRequest(id="item/17", k=4),
        SearchRequest(id="item/17", k=4, include_self=True),
        huge,
        SearchRequest(id="nobody"),
        SearchRequest(vectors=many[:3], k=5, order="hamming"),
        SearchRequest(codes=index.codes[:3], model=index.model, k=5),
    ]
    together = search_all(shop, requests)
    assert [getattr(each, "status", 200) for each in together] == [200] * n + [422, 200, 200, 200, 422, 404, 200, 200]
    for request, each in zip(requests, together, strict=True):
        if isinstance(each, Exception):
            with pytest.raises(RequestError) as caught:
                search(shop, request)
            assert caught.value.message == each.message  # type: ignore[attr-defined]
            continue
        alone = search(shop, request)
        assert each.order == alone.order
        np.testing.assert_array_equal(each.neighbours.ids, alone.neighbours.ids)
        # A product of several rows may add up in another order than that of one row.
        np.testing.assert_allclose(each.neighbours.distances, alone.neighbours.distances, rtol=1e-12)
        assert (each.described is None) == (alone.described is None)


def test_searches_of_one_kind_are_one_search_of_the_index(shop: Catalogue, shop_vectors: np.ndarray) -> None:
    asked: list[tuple[int, int]] = []

    class Counting(HammingIndex):
        def search(self, queries: Any, k: int = 10, **options: Any) -> Neighbours:
            asked.append((len(queries), k))
            return super().search(queries, k, **options)

    engine = shop.engines[0]
    index = Counting(20, model=engine.index.model)
    index.add(engine.index.codes, engine.index.ids)
    counted = Catalogue("counted", (Engine(engine.hasher, index),))
    vectors = [shop_vectors[[i]] for i in range(10)]
    search_all(counted, [SearchRequest(vectors=vector, k=9 + i % 8) for i, vector in enumerate(vectors)])
    assert asked == [(10, 16)]
    asked.clear()
    orders: list[Order] = ["hamming", "asymmetric"]
    search_all(counted, [SearchRequest(vectors=vectors[0], k=k, order=order) for k in (1, 500) for order in orders * 3])
    assert sorted(asked) == [(3, 1), (3, 1), (3, 500), (3, 500)]


def test_codes_need_the_fingerprint_of_their_model(shop: Catalogue) -> None:
    index = shop.engines[0].index
    found = search(shop, SearchRequest(codes=index.codes[:2], model=index.model, k=3))
    assert found.order == "hamming"
    np.testing.assert_array_equal(found.neighbours.ids, index.search(index.codes[:2], 3).ids)
    for codes, model, status in (
        (index.codes[:2], None, 409),
        (index.codes[:2], "0d1f6f3f1c8e9b7a", 409),
        (index.codes[:2, :2], index.model, 422),
        (np.full((1, 3), 255, dtype=np.uint8), index.model, 422),
    ):
        with pytest.raises(RequestError) as caught:
            search(shop, SearchRequest(codes=codes, model=model))
        assert caught.value.status == status


def test_an_engine_needs_codes_of_its_model(shop: Catalogue, shop_vectors: np.ndarray) -> None:
    engine, other = shop.engines[0], thpi.LSH(n_bits=20, random_state=1).fit(shop_vectors)
    both = rf"{engine.hasher.fingerprint_}.*{other.fingerprint_}"
    with pytest.raises(ModelMismatchError, match=both):
        Engine(other, engine.index)
    with pytest.raises(ModelMismatchError, match=both):
        Engine(other, engine.index, any_model=True)
    unknown = HammingIndex(20)
    with pytest.raises(ModelMismatchError, match="any_model=True"):
        Engine(other, unknown)
    assert Engine(other, unknown, any_model=True).about()["fingerprint"] == other.fingerprint_


def test_details_tell_codes_items_and_relevance(demo: Catalogue) -> None:
    assert demo.items is not None
    assert demo.truth is not None
    assert demo.items.labels is not None
    row = int(demo.gallery[5])
    (result,) = _results(demo, SearchRequest(id=row, k=20, method="ITQ", bits=32, order="hamming", details=True))
    code = bytes.fromhex(result["code"])
    for neighbour in result["neighbours"]:
        own = bytes.fromhex(neighbour["code"])
        differing = sum((a ^ b).bit_count() for a, b in zip(code, own, strict=True))
        assert differing == neighbour["distance"]
        other = neighbour["id"]
        assert neighbour["item"]["name"] == demo.items.names[other]
        assert neighbour["relevant"]["class"] == (demo.items.labels[other] == demo.items.labels[row])
        distance = float(np.sqrt(((demo.items.target[other] - demo.items.target[row]) ** 2).sum()))
        assert neighbour["relevant"]["near"] == (distance < demo.truth.radius)


def test_a_vector_has_no_class_but_is_near_itself(demo: Catalogue) -> None:
    assert demo.items is not None
    row = int(demo.gallery[5])
    (result,) = _results(demo, SearchRequest(vectors=demo.items.target[[row]], k=3, details=True))
    assert all(neighbour["relevant"]["class"] is None for neighbour in result["neighbours"])
    own = [neighbour for neighbour in result["neighbours"] if neighbour["id"] == row]
    assert own[0]["distance"] == 0
    assert own[0]["relevant"]["near"] is True


def test_what_is_not_served_is_refused(shop: Catalogue, demo: Catalogue, shop_vectors: np.ndarray) -> None:
    for catalogue, asked, status in [
        (shop, SearchRequest(vectors=shop_vectors[:1, :5]), 422),
        (shop, SearchRequest(vectors=np.full((1, 12), 1e308)), 422),
        (shop, SearchRequest(id="../../etc/passwd"), 404),
        (shop, SearchRequest(id=3), 404),
        (shop, SearchRequest(id="\ud800"), 404),
        (demo, SearchRequest(id=10**40), 404),
        (demo, SearchRequest(id=-1), 404),
        (demo, SearchRequest(id=1, method="../ITQ"), 422),
        (demo, SearchRequest(id=1, method="ITQ", bits=33), 422),
    ]:
        with pytest.raises(RequestError) as caught:
            search(catalogue, asked)
        assert caught.value.status == status


def test_a_model_and_an_index_of_other_codes_do_not_go_together(shop: Catalogue, demo: Catalogue) -> None:
    with pytest.raises(ValueError, match=r"20 bits.*of 16"):
        Engine(shop.engines[0].hasher, demo.engine("ITQ", 16).index)
