from __future__ import annotations

import numpy as np
import pytest

from thpi import graph
from thpi.codes import hamming_distances, pack_signs

pytest.importorskip("numba")
from thpi.kernels import hamming_neighbours
from thpi.kernels.hamming_neighbours import MultiIndex


def _codes(kind, n, n_bytes, seed=0):
    rng = np.random.RandomState(seed)
    if kind == "uniform":
        return rng.randint(0, 256, (n, n_bytes)).astype(np.uint8)
    if kind == "few":
        return rng.randint(0, 4, (n, n_bytes)).astype(np.uint8)
    latent = rng.standard_normal((12, 6))[rng.randint(12, size=n)] + 0.3 * rng.standard_normal((n, 6))
    return pack_signs(latent @ rng.standard_normal((6, 8 * n_bytes)))


@pytest.mark.parametrize("kind", ["uniform", "clustered", "few"])
@pytest.mark.parametrize("n_bytes", [1, 2, 3, 4, 8, 9, 32])
@pytest.mark.parametrize("pairs", [2**22, 500])
def test_kernel_gives_the_lists_of_its_twin_to_the_bit(kind, n_bytes, pairs, monkeypatch):
    codes = _codes(kind, 700, n_bytes)
    monkeypatch.setattr(graph, "_PAIRS", pairs)
    lists = []
    for compiled in (True, False):
        monkeypatch.setattr(graph, "pays_off", lambda n_words, compiled=compiled: compiled)
        lists.append(graph.hamming_neighbors(codes, 10, n_queries=400, random_state=3))
    np.testing.assert_array_equal(*lists)


@pytest.mark.parametrize("ratio", [1e-9, 8.0, 1e9])  # look up only, as it comes, scan only
@pytest.mark.parametrize("n_bits", [5, 13, 16, 32, 45, 64, 100])
def test_looking_up_and_scanning_find_the_same(ratio, n_bits, monkeypatch):
    monkeypatch.setattr(hamming_neighbours, "_SCANNED_IN_ONE_LOOK_UP", ratio)
    rng = np.random.RandomState(n_bits)
    latent = rng.standard_normal((400, 4))
    packed = np.unique(pack_signs(latent @ rng.standard_normal((4, n_bits))), axis=0)
    n_words = -(-n_bits // 64)
    words = np.pad(packed, ((0, 0), (0, 8 * n_words - packed.shape[1]))).view(np.uint64)
    size = rng.randint(1, 5, len(words))
    n_done, radius, limits, found, far = MultiIndex(words, size, n_bits).nearest(np.arange(len(words)), 11, 10**9)
    assert n_done == len(words)
    distances = hamming_distances(packed, packed)
    for query, row in enumerate(distances):
        order = np.argsort(row, kind="stable")
        expected = row[order][np.argmax(np.cumsum(size[order]) >= 11)]
        assert radius[query] == expected
        listed = slice(limits[query], limits[query + 1])
        np.testing.assert_array_equal(np.sort(found[listed]), np.flatnonzero(row <= expected))
        np.testing.assert_array_equal(far[listed], row[found[listed]])


def test_a_run_ends_where_the_lists_are_full():
    words = np.arange(64, dtype=np.uint64)[:, None]
    index = MultiIndex(words, np.ones(64, dtype=np.int64), 6)
    n_done, radius, limits, found, _ = index.nearest(np.arange(64), 2, capacity=20)
    assert (n_done, len(radius), limits[-1], len(found)) == (2, 2, 14, 14)  # itself and six at distance 1, each
    assert index.nearest(np.arange(64), 2, capacity=3)[0] == 1
