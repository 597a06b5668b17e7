from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thpi.codes import hamming_distances, pack
from thpi.index import HammingIndex, _exact, _hamming_index


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5)


def brute_force(queries: np.ndarray, codes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    distances = hamming_distances(queries, codes)
    rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, rows, axis=1), rows


@settings(max_examples=60, deadline=None)
@given(
    n_bits=st.integers(1, 70),
    n=st.integers(1, 400),
    k=st.integers(1, 450),
    density=st.sampled_from([0.01, 0.5]),
    seed=st.integers(0, 999),
    few=st.sampled_from([0, 2**12]),
)
def test_search_is_brute_force_by_distance_then_insertion(
    n_bits: int, n: int, k: int, density: float, seed: int, few: int
) -> None:
    rng = np.random.RandomState(seed)
    codes, queries = pack(rng.rand(n, n_bits) < density), pack(rng.rand(7, n_bits) < density)
    index = HammingIndex(n_bits)
    index.add(codes, ids=rng.permutation(n))
    distances, rows = brute_force(queries, codes, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_hamming_index, "FEW", few)
        found = index.search(queries, k)
    np.testing.assert_array_equal(found.distances, distances)
    np.testing.assert_array_equal(found.ids, index.ids[rows])


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(st.tuples(st.booleans(), st.integers(1, 30), st.integers(0, 10**6)), max_size=12), text=st.booleans()
)
def test_any_sequence_of_changes_equals_a_list(steps: list[Any], text: bool) -> None:
    index, model = HammingIndex(11), {}
    for adding, n, seed in steps:
        rng = np.random.RandomState(seed)
        if adding or not model:
            new = [item for item in rng.randint(-500, 500, size=n).tolist() if item not in model]
            ids = list(dict.fromkeys(f"id {item}" if text else item for item in new))
            ids = [item for item in ids if item not in model]
            codes = random_codes(len(ids) or 1, 11, seed)[: len(ids)]
            index.add(codes, ids)
            model |= {item: code.tolist() for item, code in zip(ids, codes, strict=True)}
        else:
            gone = [item for item in model if rng.rand() < 0.3]
            index.remove(gone)
            model = {item: code for item, code in model.items() if item not in gone}
    assert [(item, code.tolist()) for item, code in index] == list(model.items())
    assert len(index) == len(model)
    assert index.get_codes(list(model)).tolist() == list(model.values())
    assert all(item in index for item in model)


def test_very_large_k_does_without_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hamming_index, "FEW", 0)
    codes, queries = random_codes(500, 9), random_codes(5, 9, seed=1)
    index = HammingIndex(9)
    index.add(codes)
    by_counting = index.search(queries, 400)
    monkeypatch.setattr(_exact, "_COUNTER_BYTES", 1000)
    by_sorting = index.search(queries, 400)
    np.testing.assert_array_equal(by_counting.ids, by_sorting.ids)
    np.testing.assert_array_equal(by_counting.distances, by_sorting.distances)


def test_many_integer_ids_use_little_memory_and_are_found() -> None:
    ids = np.random.RandomState(0).permutation(100_000) * 7 - 300_000
    index = HammingIndex(8)
    for part in np.array_split(ids, 40):
        index.add(np.zeros((len(part), 1), dtype=np.uint8), part)
    positions = index._known()
    assert len(positions._recent) < 20_000
    assert positions.find(ids).tolist() == list(range(100_000))
    assert 1 not in index
    with pytest.raises(ValueError, match=f"ids={ids[5]} "):
        index.add(np.zeros((1, 1), dtype=np.uint8), ids[5:6])


@pytest.mark.parametrize(
    "ids", [[1, "a"], ["a", None], [1.0, 2.0], [True, False], [2**63, 1], "ab", [[1], [2]], ["a", "\ud800"]]
)
def test_wrong_ids_are_refused(ids: Any) -> None:
    with pytest.raises(ValueError, match="ids"):
        HammingIndex(8).add(np.zeros((2, 1), dtype=np.uint8), ids)


def test_extreme_ids() -> None:
    index = HammingIndex(8)
    index.add(np.zeros((2, 1), dtype=np.uint8), [-(2**63), 2**63 - 1])
    assert index.ids.tolist() == [-(2**63), 2**63 - 1]
    with pytest.raises(ValueError, match="beyond 64 bits"):
        index.add(np.zeros((1, 1), dtype=np.uint8))


@pytest.mark.parametrize("n_bits", [0, -1, 1.5, "8", True, None])
def test_wrong_width_is_named(n_bits: Any) -> None:
    with pytest.raises(ValueError, match="n_bits="):
        HammingIndex(n_bits)


@pytest.mark.parametrize("recall", [0, 1.1, -1, "high", float("nan")])
def test_wrong_recall_is_named(recall: Any) -> None:
    with pytest.raises(ValueError, match="recall="):
        HammingIndex(8, recall)


def test_padding_must_be_zero() -> None:
    with pytest.raises(ValueError, match="padding"):
        HammingIndex(3).add(np.array([[8]], dtype=np.uint8))


def test_what_is_given_out_cannot_change_the_index() -> None:
    index = HammingIndex(8)
    codes = np.array([[1], [2]], dtype=np.uint8)
    index.add(codes)
    codes[:] = 0
    assert index.codes.tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="read-only"):
        index.codes[0] = 3


def test_searching_while_adding_and_removing_gives_before_or_after() -> None:
    # Each change adds or removes a whole block of equal codes, so an answer from between would count a part of one.
    block, rounds = 50, 120
    index = HammingIndex(16)
    index.add(np.zeros((block, 2), dtype=np.uint8), np.arange(block))
    stop, wrong = threading.Event(), []

    def read() -> None:
        query = np.zeros((1, 2), dtype=np.uint8)
        while not stop.is_set():
            ids = index.search(query, 10 * block).ids[0]
            if len(ids) % block or len(ids) == 0 or len(set(ids.tolist())) != len(ids):
                wrong.append(ids)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(1, rounds):
        index.add(np.zeros((block, 2), dtype=np.uint8), np.arange(i * block, (i + 1) * block))
        if i % 3 == 0:
            index.remove(np.arange((i - 1) * block, i * block))
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
