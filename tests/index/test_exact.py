from __future__ import annotations

import numpy as np
import pytest

from thpi.codes import hamming_distances, pack
from thpi.index import HammingIndex, _exact

CODES, QUERIES = (pack(np.random.RandomState(seed).rand(n, 64) < 0.5) for seed, n in ((0, 12_000), (1, 100)))
WAYS = ["kernel", "faiss", "sorted", "approximate"]


def make(way: str, monkeypatch: pytest.MonkeyPatch) -> HammingIndex:
    """An index that searches in a given way, in blocks of 16 queries."""
    monkeypatch.setattr(_exact, "_BLOCK_PAIRS", 1)
    monkeypatch.setattr(_exact, "pays_off", lambda _: way == "kernel")
    if way == "sorted":
        monkeypatch.setattr(_exact, "_COUNTER_BYTES", 0)
    _exact.faiss_module()
    index = HammingIndex(64, recall=0.5 if way == "approximate" else None)
    index.add(CODES)
    if way == "approximate":
        index.tune(10)
        assert index._state.lists is not None or pytest.skip("exact search was faster")
    return index


@pytest.mark.parametrize("way", WAYS)
def test_a_search_in_blocks_gives_the_same(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index, calls = make(way, monkeypatch), []
    found = index.search(QUERIES, 10, check=lambda: calls.append(1))
    assert len(calls) >= 100 // 16
    if way != "approximate":
        distances = hamming_distances(QUERIES, CODES)
        order = np.argsort(distances, axis=1, kind="stable")[:, :10]
        np.testing.assert_array_equal(found.ids, order)
        np.testing.assert_array_equal(found.distances, np.take_along_axis(distances, order, axis=1))


@pytest.mark.parametrize("way", WAYS)
def test_a_check_ends_a_search_between_blocks(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    index, calls = make(way, monkeypatch), []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise InterruptedError("nobody waits")

    with pytest.raises(InterruptedError, match="nobody waits"):
        index.search(QUERIES, 10, check=check)
    assert len(calls) == 3
    assert index.search(QUERIES[:0], 10).ids.shape == (0, 10)
