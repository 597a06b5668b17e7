from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thpi
from thpi.codes import hamming_distances
from thpi.collection import Collection, write
from thpi.index import Neighbours, Order
from thpi.web.errors import RequestError, as_refusal
from thpi.web.requests import Asked
from thpi.web.searching import Served, search_all


def no_check() -> None:
    pass


def search(served: Served, *asked: Asked) -> list[Any]:
    found = search_all(served, asked, no_check)
    return [as_refusal(each) if isinstance(each, Exception) else json.loads(each.body) for each in found]


def ids_of(answer: Any) -> list[list[Any]]:
    return [[hit["id"] for hit in result["neighbours"]] for result in answer["results"]]


def distances_of(answer: Any) -> list[list[float]]:
    return [[hit["distance"] for hit in result["neighbours"]] for result in answer["results"]]


@pytest.fixture(scope="module")
def served(shop: Collection) -> Served:
    return Served(shop)


@pytest.mark.parametrize("order", [None, "asymmetric", "hamming"])
def test_a_search_by_vector_is_that_of_the_collection(served: Served, vectors: np.ndarray, order: Order | None) -> None:
    (answer,) = search(served, Asked(vectors[:5], k=7, order=order))
    expected = served.collection.search(vectors[:5], 7, order=order)
    assert answer["order"] == (order or "asymmetric")
    assert ids_of(answer) == expected.ids.tolist()
    assert distances_of(answer) == expected.distances.tolist()
    other = served.collection.search(vectors[:5], 7, order="hamming")
    assert (expected.ids.tolist() == other.ids.tolist()) == (order == "hamming")


@pytest.mark.parametrize("k", [1, 10, 199, 200, 500])
def test_a_search_by_id_leaves_the_item_out_and_no_other(served: Served, k: int) -> None:
    codes = served.collection.index.codes
    distances = hamming_distances(codes[[17]], codes)[0]
    order = [i for i in np.argsort(distances, kind="stable") if i != 17][:k]
    (answer,) = search(served, Asked(id="item/17", k=k))
    assert answer["order"] == "hamming"
    assert ids_of(answer) == [[f"item/{i}" for i in order]]
    assert distances_of(answer) == [[int(distances[i]) for i in order]]


def test_searches_that_come_together_find_what_each_finds_alone(served: Served, vectors: np.ndarray) -> None:
    rng = np.random.RandomState(1)
    codes = served.collection.index.codes
    asked: list[Asked] = []
    for _ in range(60):
        start, k = rng.randint(190), int(rng.randint(1, 40))
        kind = rng.randint(6)
        rows, some = vectors[start : start + rng.randint(1, 5)], codes[start : start + rng.randint(1, 5)]
        if kind == 0:
            asked.append(Asked(id=f"item/{start}", k=k))
        elif kind == 1:
            asked.append(Asked(codes=some, model=served.collection.model, k=k, details=bool(rng.randint(2))))
        elif kind == 2:
            asked.append(Asked(rows, k=k, order="hamming"))
        elif kind == 3:  # those that fail are among them
            asked.append(Asked(id="nothing") if rng.randint(2) else Asked(rows[:, 1:], k=k))
        else:
            asked.append(Asked(rows, k=k, details=bool(rng.randint(2))))
    together = search(served, *asked)
    for each, answer in zip(asked, together, strict=True):
        (alone,) = search(served, each)
        if isinstance(alone, Exception):
            assert (type(answer), str(answer)) == (RequestError, str(alone))
            continue
        assert ids_of(answer) == ids_of(alone)
        np.testing.assert_allclose(np.concatenate(distances_of(answer)), np.concatenate(distances_of(alone)), rtol=1e-9)
    assert sum(isinstance(answer, Exception) for answer in together) > 3


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        (Asked(np.zeros((1, 11))), 422, "a vector must have 12 numbers; got 11"),
        (Asked(np.full((1, 12), 1e308)), 422, "not finite"),
        (Asked(np.zeros((1, 12)), side="source"), 422, "codes target rows only"),
        (Asked(id="item/200"), 404, "id='item/200' is not in the collection"),
        (Asked(id=3), 422, "ids=3, ... are of kind int64"),
        (Asked(id=2**70), 422, "of 64 bits"),
        (Asked(id="\ud800"), 422, "surrogate"),
        (Asked(codes=np.zeros((1, 3), np.uint8)), 409, "does not say which model"),
        (Asked(codes=np.zeros((1, 3), np.uint8), model="0d1f6f3f1c8e9b7a"), 409, "0d1f6f3f1c8e9b7a"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_the_reason(
    served: Served, asked: Asked, status: int, message: str
) -> None:
    (error,) = search(served, asked)
    assert isinstance(error, RequestError)
    assert (error.status, message in error.message) == (status, True), error.message
    assert error.message.isascii()


@pytest.mark.parametrize("width", [2, 4])
def test_codes_of_another_width_are_refused(served: Served, width: int) -> None:
    (error,) = search(served, Asked(codes=np.zeros((1, width), np.uint8), model=served.collection.model))
    assert (error.status, "needs 3 bytes" in error.message) == (422, True), error.message


class Interfering(Served):
    """Something happens after each of the first searches of the collection."""

    def __init__(self, collection: Collection, often: int, happens: Any) -> None:
        super().__init__(collection)
        found = collection.search_codes
        self.n = 0

        def search_codes(*values: Any, **options: Any) -> Neighbours:
            result = found(*values, **options)
            self.n += 1
            if self.n <= often:
                happens(result)
            return result

        collection.search_codes = search_codes  # type: ignore[method-assign]


@pytest.mark.parametrize("often", [1, 100])
def test_an_item_that_is_removed_during_a_search_does_not_stop_it(path: Path, often: int, vectors: np.ndarray) -> None:
    with thpi.open(path) as shop:
        served = Interfering(shop, often, lambda found: shop.remove(found.ids[0, :1].tolist()))
        (answer,) = search(served, Asked(vectors[:1], k=5, details=True))
        if often == 1:
            assert ids_of(answer) == shop.search(vectors[:1], 5).ids.tolist()
        else:
            assert (answer.status, "try again" in answer.message) == (503, True)


def test_a_model_that_is_replaced_during_a_search_finds_no_neighbours_of_another_one(
    path: Path, vectors: np.ndarray
) -> None:
    other = thpi.LSH(n_bits=20, random_state=1).fit(vectors)

    def replace(found: Neighbours) -> None:
        with thpi.open(path) as writer:
            writer.replace(other, other.transform(vectors), writer.ids)
        shop.refresh()

    with thpi.open(path) as shop:
        old = shop.model
        served = Interfering(shop, 1, replace)
        asked = [Asked(vectors[:2], k=9), Asked(id="item/3", k=9), Asked(codes=shop.codes_of(["item/4"]), model=old)]
        by_rows, by_id, by_codes = search(served, *asked)
        assert shop.model == other.fingerprint_ != old
        assert ids_of(by_rows) == shop.search(vectors[:2], 9).ids.tolist()
        assert ids_of(by_id) == shop.search(id="item/3", k=9).ids.tolist()
        assert (by_codes.status, old in by_codes.message) == (409, True)


def test_an_id_of_any_text_comes_through(tmp_path: Path, vectors: np.ndarray) -> None:
    ids = ['"quoted"', "ümläut", "new\nline", "\u2028", "</script>"]
    hasher = thpi.LSH(n_bits=20, random_state=0).fit(vectors)
    write(tmp_path / "texts.thpi", hasher, hasher.transform(vectors[:5]), ids, about={})
    with thpi.open(tmp_path / "texts.thpi") as shop:
        (answer,) = search(Served(shop), Asked(vectors[:1], k=5))
        assert sorted(ids_of(answer)[0]) == sorted(ids)
        (answer,) = search(Served(shop), Asked(id="new\nline", k=5))
        assert sorted(ids_of(answer)[0]) == sorted(set(ids) - {"new\nline"})


def test_an_empty_collection_is_searched(path: Path, vectors: np.ndarray) -> None:
    with thpi.open(path) as shop:
        shop.remove(shop.ids)
        (answer,) = search(Served(shop), Asked(vectors[:2], k=3, details=True))
        assert ids_of(answer) == [[], []]
