"""One suite over all engines: same data, same answers up to ties."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from thpi.codes import hamming_distances, pack
from thpi.export import copy_codes
from thpi.identity import ModelMismatchError
from thpi.index import HammingIndex

WIDTHS = [1, 7, 12, 64, 100]


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5)


@pytest.mark.parametrize("n_bits", WIDTHS)
@pytest.mark.parametrize("kind", ["int64", "string"])
def test_same_answers_as_brute_force(make_store: Any, n_bits: int, kind: str) -> None:
    codes = random_codes(300, n_bits)
    ids = [7 * i - 900 for i in range(300)] if kind == "int64" else [f'item {i}"\\ü' for i in range(300)]
    queries = random_codes(9, n_bits, seed=1)
    store = make_store(n_bits)
    store.add(codes[:200], ids[:200])
    store.add(codes[200:], ids[200:])
    true = hamming_distances(queries, codes)
    where = {item: row for row, item in enumerate(ids)}
    found = store.search(queries, 20)
    assert found.distances.shape == found.ids.shape == (9, 20)
    np.testing.assert_array_equal(found.distances, np.sort(true, axis=1)[:, :20])
    for i in range(9):
        rows = [where[item] for item in found.ids[i]]
        assert len(set(rows)) == 20
        np.testing.assert_array_equal(true[i, rows], found.distances[i])
    expected = np.argsort(true, axis=1, kind="stable")[:, :20]
    assert found.ids.tolist() == [[ids[row] for row in rows] for rows in expected]


def test_ties_of_the_kth_are_in_the_order_of_insertion(make_store: Any) -> None:
    """Far more items at the distance of the k-th than are asked for, in an order that no id has."""
    codes = random_codes(900, 3)
    ids = np.random.RandomState(2).permutation(900)
    store = make_store(3)
    for start in range(0, 900, 300):
        store.add(codes[start : start + 300], ids[start : start + 300])
    queries = random_codes(6, 3, seed=1)
    order = np.argsort(hamming_distances(queries, codes), axis=1, kind="stable")
    for k in (1, 10, 200, 899):
        np.testing.assert_array_equal(store.search(queries, k).ids, ids[order[:, :k]])


@pytest.mark.parametrize("n_bits", WIDTHS)
def test_codes_come_back_bit_for_bit(make_store: Any, n_bits: int) -> None:
    codes = random_codes(64, n_bits)
    store = make_store(n_bits)
    store.add(codes, [f"n{i}" for i in range(64)])
    np.testing.assert_array_equal(store.get_codes([f"n{i}" for i in range(63, -1, -1)]), codes[::-1])
    np.testing.assert_array_equal(np.stack([code for _, code in store]), codes)
    assert [item for item, _ in store] == [f"n{i}" for i in range(64)]


def test_every_single_bit_keeps_its_place(make_store: Any) -> None:
    codes = pack(np.eye(19, dtype=bool))
    store = make_store(19)
    store.add(codes)
    np.testing.assert_array_equal(store.get_codes(range(19)), codes)
    np.testing.assert_array_equal(store.search(codes, 1).ids[:, 0], np.arange(19))


MODEL, OTHER = "c4e8709f0e821f23", "0d1f6f3f1c8e9b7a"


def test_a_table_says_which_model_made_its_codes(make_store: Any) -> None:
    if make_store.engine == "index":
        pytest.skip("an index in memory is not opened again; tests/index has the file")
    table = f"made_by_{make_store.engine}"
    store = make_store(16, table, MODEL)
    store.add(random_codes(3, 16))
    assert store.model == make_store(16, table, MODEL).model == MODEL
    with pytest.raises(ModelMismatchError, match=rf"{MODEL}.*{OTHER}"):
        make_store(16, table, OTHER)
    with pytest.raises(ModelMismatchError, match=OTHER):
        make_store(16, table, OTHER, any_model=True)
    assert len(store) == 3


def test_a_table_of_codes_from_elsewhere_is_accepted_on_request(make_store: Any) -> None:
    if make_store.engine == "index":
        pytest.skip("an index in memory is not opened again; tests/index has the file")
    table = f"made_elsewhere_{make_store.engine}"
    make_store(16, table).add(random_codes(3, 16))
    assert make_store(16, table).model is None
    with pytest.raises(ModelMismatchError, match=r"--any-model \(in Python any_model=True\)"):
        make_store(16, table, MODEL)
    assert make_store(16, table, MODEL, any_model=True).model is None


def test_codes_are_copied_to_a_store_of_their_model(make_store: Any) -> None:
    store = make_store(16, None, MODEL)
    for model, any_model, copied in (
        (OTHER, True, False),
        (None, False, False),
        (None, True, True),
        (MODEL, False, True),
    ):
        source = HammingIndex(16, model=model)
        source.add(random_codes(2, 16), ids=[f"{model} {i}" for i in range(2)])
        before = len(store)
        with contextlib.nullcontext() if copied else pytest.raises(ModelMismatchError):
            copy_codes(source, store, any_model=any_model)
        assert len(store) == before + 2 * copied


def test_empty_store(make_store: Any) -> None:
    store = make_store(16)
    assert len(store) == 0
    assert list(store) == []
    assert store.search(random_codes(3, 16), 5).ids.shape == (3, 0)
    with pytest.raises(KeyError, match="5"):
        store.get_codes([5])
    with pytest.raises(KeyError, match="5"):
        store.remove([5])


def test_an_emptied_store_is_empty(make_store: Any) -> None:
    store = make_store(16)
    store.add(random_codes(3, 16))
    store.remove([0, 1, 2])
    assert (len(store), list(store)) == (0, [])
    assert store.search(random_codes(2, 16), 5).ids.shape == (2, 0)
    assert store.search(random_codes(2, 16)[:0], 5).ids.shape == (0, 0)
    assert len(store.add(random_codes(2, 16))) == 2


def test_k_beyond_the_number_of_items_gives_all(make_store: Any) -> None:
    store = make_store(8)
    store.add(random_codes(4, 8))
    assert store.search(random_codes(2, 8), 10**6).ids.shape == (2, 4)


def test_remove_and_add_again(make_store: Any) -> None:
    codes = random_codes(50, 24)
    store = make_store(24)
    store.add(codes)
    store.remove([3, 40])
    assert len(store) == 48
    assert [item for item, _ in store] == [i for i in range(50) if i not in (3, 40)]
    with pytest.raises(KeyError, match="40"):
        store.remove([4, 40])
    assert len(store) == 48, "a failed removal removes nothing"
    store.add(codes[3:4], [3])
    assert [item for item, _ in store][-1] == 3
    assert store.search(codes[3:4], 1).distances[0, 0] == 0
    assert store.add(codes[:2]).tolist() == [50, 51], "without ids it numbers on"


@pytest.mark.parametrize("ids", [[1, 2, 1], ["a", "b", "a"]])
def test_duplicates_are_refused_by_name(make_store: Any, ids: list[Any]) -> None:
    store = make_store(8)
    with pytest.raises(ValueError, match=repr(ids[0])):
        store.add(random_codes(3, 8), ids)
    store.add(random_codes(1, 8), ids[:1])
    with pytest.raises(ValueError, match=repr(ids[0])):
        store.add(random_codes(2, 8), ids[1:])
    assert len(store) == 1, "all or none"


def test_wrong_arguments_are_named(make_store: Any) -> None:
    store = make_store(16)
    store.add(random_codes(3, 16))
    for wrong, message in [
        (lambda: store.add(random_codes(2, 8)), "codes"),
        (lambda: store.add(random_codes(2, 16), [1.5, 2.5]), "ids"),
        (lambda: store.add(random_codes(2, 16), [7]), "ids"),
        (lambda: store.add(random_codes(1, 16), ["text"]), "kind"),
        (lambda: store.search(random_codes(1, 24), 3), "codes|queries"),
        (lambda: store.search(random_codes(1, 16), 0), "k=0"),
        (lambda: store.search(random_codes(1, 16), "3"), "k='3'"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()
    assert len(store) == 3


def test_hostile_ids_are_only_text(make_store: Any) -> None:
    ids = ["'; DROP TABLE codes; --", '"] or id != "', "\\", "%s", "{0}", "", " ", "☃ ünï"]
    if make_store.engine == "milvus" and make_store.embedded:
        with pytest.raises(ValueError, match="DROP TABLE"):
            make_store(16).add(random_codes(1, 16), ids[:1])
        ids[0] = "; DROP TABLE codes; --"
    codes = random_codes(len(ids), 16)
    store = make_store(16)
    store.add(codes, ids)
    np.testing.assert_array_equal(store.get_codes(ids), codes)
    store.remove(ids[:2])
    assert [item for item, _ in store] == ids[2:]


def test_copy_between_stores(make_store: Any) -> None:
    codes = random_codes(37, 20)
    store, back = make_store(20), HammingIndex(20)
    source = HammingIndex(20)
    source.add(codes, [f"x{i}" for i in range(37)])
    assert copy_codes(source, store, batch_size=10) == 37
    assert copy_codes(store, back, batch_size=10) == 37
    np.testing.assert_array_equal(back.codes, codes)
    assert back.ids.tolist() == source.ids.tolist()
