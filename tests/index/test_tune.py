from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from thpi.codes import pack, paired_hamming_distances
from thpi.index import HammingIndex
from thpi.index._tune import Approximate, _climb, build


def clustered(n: int, n_bits: int = 64, seed: int = 0) -> np.ndarray:
    rng = np.random.RandomState(seed)
    centres = rng.rand(100, n_bits) < 0.5
    return pack(centres[rng.randint(100, size=n)] ^ (rng.rand(n, n_bits) < 0.12))


CODES = clustered(12_000)
QUERIES = clustered(200, seed=0)


def recall(index: HammingIndex, codes: np.ndarray, k: int) -> float:
    exact = HammingIndex(index.n_bits)
    exact.add(index.codes, index.ids)
    return float((index.search(codes, k).distances <= exact.search(codes, k).distances[:, -1:]).mean())


def test_all_lists_are_an_exact_search() -> None:
    structure = build(CODES, seed=0)
    structure.index.nprobe = structure.index.nlist
    exact = HammingIndex(64)
    exact.add(CODES)
    true = exact.search(QUERIES, 10)
    distances, positions = structure.nearest(QUERIES, 10)
    np.testing.assert_array_equal(distances, true.distances)
    assert (np.diff(distances * 10**6 + positions, axis=1) > 0).all(), "by distance, then position"


def test_same_seed_same_answers() -> None:
    first, second = (build(CODES, seed=3).nearest(QUERIES, 10)[1] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_removed_and_added_items_with_a_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever the clock says, the structure is to be chosen, so that this tests it.
    monkeypatch.setattr("thpi.index._tune._timed", lambda search, queries: (_Falling.next(), search()))
    _Falling.value = 1e9
    index = HammingIndex(64, recall=0.9)
    index.add(CODES)
    report = index.tune(10)
    assert report.kind == "ivf"
    gone = np.arange(0, 1000)
    index.remove(gone)
    index.add(QUERIES[:50], np.arange(10**6, 10**6 + 50))
    assert index._state.lists is not None
    assert index._state.lists.n_covered == len(CODES) - 1000
    found = index.search(QUERIES, 10)
    assert not np.isin(found.ids, gone).any()
    assert (found.ids[:50] >= 10**6).any(axis=1).all(), "new items are found at once"
    assert recall(index, QUERIES, 10) >= 0.85
    expected = index.get_codes(found.ids.ravel())
    true = paired_hamming_distances(expected, np.repeat(QUERIES, 10, axis=0))
    np.testing.assert_array_equal(true, found.distances.ravel())


class _Falling:
    """A clock on which each measurement is faster than the one before."""

    value = 1e9

    @classmethod
    def next(cls) -> float:
        cls.value /= 2
        return cls.value


def test_first_search_tunes_and_reaches_the_target() -> None:
    index = HammingIndex(64, recall=0.95)
    index.add(CODES)
    assert index.report_ is None
    assert recall(index, QUERIES, 10) >= 0.9
    report = index.report_
    assert report is not None
    assert report.reached >= 0.95
    assert (report.n, report.k) == (12_000, 10)
    assert report.kind in str(report)
    assert report.milliseconds is not None
    assert report.exact_milliseconds is not None
    assert report.milliseconds <= report.exact_milliseconds


def test_more_than_the_tuned_k_is_exact() -> None:
    index = HammingIndex(64, recall=0.5)
    index.add(CODES)
    index.tune(5)
    assert recall(index, QUERIES, 50) == 1.0


def test_small_index_stays_exact() -> None:
    index = HammingIndex(64, recall=0.9)
    assert index.search(QUERIES, 3).ids.shape == (200, 0)
    for n in (1, 1, 20):
        index.add(CODES[len(index) : len(index) + n])
        assert recall(index, QUERIES, 3) == 1.0
    assert index.report_ is not None
    assert index.report_.kind == "exact"


def test_an_exact_index_cannot_be_tuned() -> None:
    with pytest.raises(ValueError, match="exact"):
        HammingIndex(8).tune()


def test_effort_rises_if_the_held_out_queries_fall_short() -> None:
    class Lucky:
        """Queries whose tuning half is easy, and whose other half needs eight lists."""

        k, exact_milliseconds = 10, 1.0

        def recall_and_time(self, candidate: Approximate, half: slice) -> tuple[np.ndarray, float]:
            enough = half.start == 0 or candidate.index.nprobe >= 8
            return np.full((2, 5), 0.96 if enough else 0.94), 0.1

    lists = build(CODES, seed=0)
    reached, milliseconds = _climb(lists, Lucky(), 0.95)  # type: ignore[arg-type]
    assert 8 <= lists.index.nprobe < lists.index.nlist
    assert (reached, milliseconds) == (pytest.approx(0.96), 0.1)


def test_given_queries_decide_and_one_query_is_too_few() -> None:
    index = HammingIndex(64, recall=0.9)
    index.add(CODES)
    assert index.tune(10, queries=np.random.RandomState(0).standard_normal((60, 64))).reached >= 0.9
    assert index.tune(10, queries=QUERIES[:1]).milliseconds is None


def test_warming_up_tunes_as_a_first_search_would() -> None:
    index, other = HammingIndex(64, recall=0.9), HammingIndex(64)
    for each in (index, other):
        each.add(CODES)
        each.warm_up()
    assert index.report_ is not None
    assert (index._state.lists is None) == (index.report_.kind == "exact")
    assert other.report_ is None


def test_a_saved_index_is_tuned_anew(tmp_path: Path) -> None:
    index = HammingIndex(64, recall=0.9, random_state=4)
    index.add(CODES)
    index.tune(10)
    index.save(tmp_path / "i")
    opened = HammingIndex.open(tmp_path / "i")
    assert opened.report_ is None
    assert recall(opened, QUERIES, 10) >= 0.85
    assert opened.report_ is not None
