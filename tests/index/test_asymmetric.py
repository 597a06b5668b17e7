"""Asymmetric search: in one pass, compiled or not, against sorting all distances; and approximate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thpi
from thpi.codes import hamming_distances, pack, pack_signs, unpack_signs
from thpi.datasets import load_digits_views
from thpi.index import HammingIndex, _exact, asymmetric_distances
from thpi.index._exact import _kernel_weighted, _numpy_weighted, _Queries, nearest_asymmetric
from thpi.index._queries import FEW, nearest_of_few


def brute_force(p: np.ndarray, codes: np.ndarray) -> np.ndarray:
    signs = unpack_signs(codes, p.shape[1])
    return (np.abs(p)[:, None] * (signs != np.where(p >= 0, 1, -1)[:, None])).sum(axis=2)


def projections(n: int, n_bits: int, kind: str, seed: int) -> np.ndarray:
    """Numbers of very different sizes; equal ones, so that nearly all rows are tied; or none but zeros."""
    rng = np.random.RandomState(seed)
    sizes = {"normal": rng.standard_normal, "equal": lambda shape: rng.choice([-1.0, 1.0], shape), "zero": np.zeros}
    return sizes[kind]((n, n_bits)) * np.exp(3 * rng.standard_normal((n, 1)))


@pytest.mark.parametrize("n_bits", [1, 8, 13, 64])
def test_the_distance_is_the_sum_over_differing_bits(n_bits: int) -> None:
    rng = np.random.RandomState(0)
    p, codes = rng.standard_normal((4, n_bits)), pack(rng.rand(6, n_bits) < 0.5)
    expected = brute_force(p, codes)
    np.testing.assert_allclose(asymmetric_distances(p, codes), expected)


@settings(max_examples=80, deadline=None)
@given(
    n_bits=st.integers(1, 150),
    n=st.integers(0, 3000),
    k=st.integers(1, 700),
    kind=st.sampled_from(["normal", "equal", "zero"]),
    density=st.sampled_from([0.02, 0.5]),
    seed=st.integers(0, 999),
)
def test_search_is_brute_force_by_distance_then_insertion(
    n_bits: int, n: int, k: int, kind: str, density: float, seed: int
) -> None:
    rng = np.random.RandomState(seed)
    codes, p = pack(rng.rand(max(n, 1), n_bits) < density)[:n], projections(3, n_bits, kind, seed)
    index = HammingIndex(n_bits)
    index.add(codes, ids=rng.permutation(n))
    found = index.search(p, k)
    distances = asymmetric_distances(p, codes)
    np.testing.assert_allclose(distances, brute_force(p, codes) if n else np.empty((3, 0)), rtol=1e-12)
    rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found.ids, index.ids[rows])
    np.testing.assert_array_equal(found.distances, np.take_along_axis(distances, rows, axis=1))


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(1, 40),
    n=st.integers(1, 6),
    m=st.integers(1, 3000),
    k=st.integers(1, 300),
    kind=st.sampled_from(["normal", "equal", "zero"]),
    seed=st.integers(0, 99),
)
def test_the_kernel_and_its_twin_give_the_same_answer(width: int, n: int, m: int, k: int, kind: str, seed: int) -> None:
    pytest.importorskip("numba")
    codes = np.random.default_rng(seed).integers(0, 256, (m, width), dtype=np.uint8)
    queries = _Queries.of(projections(n, 8 * width, kind, seed))
    compiled, plain = _kernel_weighted(queries, codes, k), _numpy_weighted(queries, codes, k)
    np.testing.assert_array_equal(compiled[0], plain[0])
    np.testing.assert_array_equal(compiled[1], plain[1])


def test_the_twin_goes_on_from_block_to_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_exact, "_FIRST_ROWS", 7)
    monkeypatch.setattr(_exact, "_ROWS", 50)
    codes, p = pack(np.random.RandomState(0).rand(1234, 21) < 0.5), projections(4, 21, "normal", 1)
    distances, positions = _numpy_weighted(_Queries.of(p), codes, 10)
    rows = np.argsort(asymmetric_distances(p, codes), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(positions, rows)
    np.testing.assert_array_equal(distances, np.take_along_axis(asymmetric_distances(p, codes), rows, axis=1))


@pytest.mark.parametrize("n_queries", [1, 3, 40])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("compiled", [True, False])
def test_sharing_out_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, n_queries: int, threads: int, compiled: bool
) -> None:
    if compiled:
        pytest.importorskip("numba")
    codes, p = pack(np.random.RandomState(0).rand(1000, 64) < 0.5), projections(n_queries, 64, "equal", 1)
    expected = _numpy_weighted(_Queries.of(p), codes, 10)
    monkeypatch.setattr(_exact, "n_threads", lambda: threads)
    monkeypatch.setattr(_exact, "_WORDS_A_THREAD", 1)
    monkeypatch.setattr(_exact, "_CALL_BYTES", 200_000)  # five queries in a call
    monkeypatch.setattr(_exact, "pays_off", lambda n_words: compiled)
    found = nearest_asymmetric(p, codes, 10)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@settings(max_examples=60, deadline=None)
@given(
    n_bits=st.integers(1, 80),
    n=st.integers(1, 300),
    k=st.integers(1, 60),
    kind=st.sampled_from(["normal", "equal", "zero"]),
    seed=st.integers(0, 999),
)
def test_few_codes_are_sorted_as_many_are(n_bits: int, n: int, k: int, kind: str, seed: int) -> None:
    codes, p = pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5), projections(5, n_bits, kind, seed)
    assert 5 * n <= FEW
    few, many = nearest_of_few(pack_signs(p), p, codes, k), nearest_asymmetric(p, codes, k)
    np.testing.assert_array_equal(few[0], many[0])
    np.testing.assert_array_equal(few[1], many[1])


def test_rows_are_ruled_out_by_counting() -> None:
    """Else every row would be summed, and search would take ten times as long."""
    rng = np.random.RandomState(0)
    p, codes = rng.standard_normal((1, 64)), pack(rng.rand(100_000, 64) < 0.5)
    queries = _Queries.of(p)
    bits = np.unpackbits(queries.masks[0], axis=1, bitorder="little")
    differ = np.unpackbits(codes ^ queries.own[0], axis=1, bitorder="little")
    steps, limit = differ @ (bits.T @ [1, 2, 4]), nearest_asymmetric(p, codes, 10)[0][0, -1]
    counted, true = steps * queries.steps[0] - queries.excess[0], asymmetric_distances(p, codes)[0]
    assert (counted <= true + 1e-9).all(), "never more than the true distance"
    assert (counted <= limit).mean() < 0.002


def test_projections_of_equal_sizes_give_the_hamming_order() -> None:
    rng = np.random.RandomState(0)
    signs = np.where(rng.rand(5, 20) < 0.5, -1.0, 1.0)
    index = HammingIndex(20)
    index.add(pack(rng.rand(50, 20) < 0.5), [f"{i}" for i in range(50)])
    by_code, by_size = index.search(pack_signs(signs), 30), index.search(signs, 30)
    np.testing.assert_array_equal(by_size.distances, by_code.distances)
    np.testing.assert_array_equal(by_size.ids, by_code.ids)
    assert (by_size.distances.dtype, by_code.distances.dtype) == (np.float64, np.int32)


def test_hamming_order_stays_available() -> None:
    rng = np.random.RandomState(0)
    p, index = rng.standard_normal((5, 20)), HammingIndex(20)
    index.add(pack(rng.rand(50, 20) < 0.5))
    by_code, by_sign = index.search(pack_signs(p), 30), index.search(p.astype(np.float32), 30, order="hamming")
    np.testing.assert_array_equal(by_sign.ids, by_code.ids)
    np.testing.assert_array_equal(by_sign.distances, by_code.distances)
    assert (index.search(p, 30).ids != by_code.ids).any()


@pytest.mark.parametrize("method", ["ITQ", "DSH", "SpectralHashing", "AutoHasher"])
def test_every_hash_function_gives_projections(method: str) -> None:
    """Linear, with offsets, eigenfunctions, kernels: the code is the sign, so the own item is nearest."""
    X = load_digits_views(target="kar").target[::8]
    options: dict[str, Any] = {"relevance": "labels", "kernel": True} if method == "AutoHasher" else {}
    hasher = thpi.HASHERS[method](n_bits=16, random_state=0, **options)
    hasher.fit(X, np.repeat(np.arange(10), 25)) if options else hasher.fit(X)
    index = HammingIndex(16, model=hasher.fingerprint_)
    index.add(hasher.transform(X))
    p = np.asarray(hasher.decision_function(X[:20]))
    found = index.search(p, 5)
    assert (found.distances[:, 0] == 0).all()
    expected = np.sort(brute_force(p.astype(np.float64), index.codes), axis=1)[:, :5]
    np.testing.assert_allclose(found.distances, expected, rtol=1e-9, atol=1e-12)


def test_wrong_queries_are_named() -> None:
    index = HammingIndex(12)
    index.add(np.zeros((3, 2), dtype=np.uint8))
    with pytest.raises(ValueError, match="order='nearest' must be None, 'asymmetric' or 'hamming'"):
        index.search(np.zeros((1, 12)), order="nearest")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="order='asymmetric' needs projections"):
        index.search(np.zeros((1, 2), dtype=np.uint8), order="asymmetric")
    with pytest.raises(ValueError, match="queries has 11 projections per row; n_bits=12"):
        index.search(np.zeros((1, 11)))
    for wrong in (np.nan, np.inf, 1.7e308):
        with pytest.raises(ValueError, match="queries must be a 2-D array of finite numbers"):
            index.search(np.full((1, 12), wrong))


def clustered(n: int, seed: int) -> np.ndarray:
    """Projections around 100 centres."""
    centres = np.random.RandomState(0).standard_normal((100, 64))
    rng = np.random.RandomState(seed)
    return centres[rng.randint(100, size=n)] + 0.4 * rng.standard_normal((n, 64))


def test_an_approximate_kind_orders_its_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever the clock says, the structure is to be chosen, so that this tests it.
    times = iter(1e9 / 2**i for i in range(1000))
    monkeypatch.setattr("thpi.index._tune._timed", lambda search, queries: (next(times), search()))
    stored, queries = clustered(12_000, 1), clustered(200, 2)
    index, exact = HammingIndex(64, recall=0.95), HammingIndex(64)
    index.add(pack_signs(stored))
    exact.add(pack_signs(stored))
    report = index.tune(10, queries=clustered(200, 3))
    assert report.kind == "ivf"
    assert report.candidates > 10
    assert report.reached >= 0.95
    found, true = index.search(queries, 10), exact.search(queries, 10)
    assert (found.distances <= true.distances[:, -1:]).mean() >= 0.93
    assert (np.diff(found.distances, axis=1) >= 0).all()
    for row in range(5):
        np.testing.assert_array_equal(
            found.distances[row], asymmetric_distances(queries[[row]], index.get_codes(found.ids[row]))[0]
        )
    np.testing.assert_array_equal(index.search(queries, 11).ids, exact.search(queries, 11).ids)
    nearest = hamming_distances(pack_signs(queries), index.codes).min(axis=1)
    assert (index.search(queries, 1, order="hamming").distances[:, 0] == nearest).mean() >= 0.93


def test_tuning_without_projections_reaches_the_target_in_both_orders() -> None:
    index, exact = HammingIndex(64, recall=0.9), HammingIndex(64)
    codes = pack_signs(clustered(12_000, 1))
    index.add(codes)
    exact.add(codes)
    queries = clustered(200, 2)
    for asked in (queries, pack_signs(queries)):
        found, true = index.search(asked, 10), exact.search(asked, 10)
        assert (found.distances <= true.distances[:, -1:]).mean() >= 0.85
    assert index.report_ is not None
    assert index.report_.candidates >= 10
