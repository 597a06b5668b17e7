"""What a collection finds and keeps, against an index and a dictionary in memory."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import thpi
from tests.collection.conftest import IDS
from thpi.codes import hamming_distances
from thpi.collection import Collection, CollectionFileError, Details, _collection, _file, write
from thpi.index import HammingIndex


def test_a_search_finds_what_an_index_of_the_same_codes_finds(shop, hasher, rows):
    index = HammingIndex(12)
    index.add(hasher.transform(rows[:30]), IDS)
    for order in ("asymmetric", "hamming"):
        expected = index.search(hasher.decision_function(rows[30:]), 7, order=order)
        found = shop.search(rows[30:], 7, order=order)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_allclose(found.distances, expected.distances)


def test_an_item_is_not_its_own_neighbour(shop, hasher, rows):
    distances = hamming_distances(hasher.transform(rows[5:6]), hasher.transform(rows[:30]))[0]
    order = [IDS[at] for at in np.argsort(distances, kind="stable") if at != 5]
    assert shop.search(id="A-5", k=6).ids[0].tolist() == order[:6]


def test_what_was_given_comes_back(shop, hasher, rows):
    assert len(shop) == 30
    assert shop.ids.tolist() == IDS
    assert (shop.n_bits, shop.model, shop.about["title"]) == (12, hasher.fingerprint_, "shop")
    np.testing.assert_array_equal(shop.codes_of(["A-7", "A-2"]), hasher.transform(rows[[7, 2]]))
    assert shop.details("A-3") == Details("a red cap")
    assert shop.details("A-4") == Details(None, b"\x89PNG picture")
    assert shop.details("A-5") == Details()
    assert shop.texts() == [shop.details(item).text for item in IDS]
    assert "A-5" in shop
    assert "A-55" not in shop
    assert dict(shop).keys() == set(IDS)
    assert repr(shop).endswith("30 items, 12 bits")
    shop.check()


def test_the_estimator_is_the_one_that_learned(shop, hasher, rows):
    assert shop.estimator().get_params() == hasher.get_params()
    np.testing.assert_array_equal(shop.estimator().transform(rows), hasher.transform(rows))
    np.testing.assert_array_equal(shop.hasher.transform(rows), hasher.transform(rows))


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        (["new", "A-3"], ValueError, "ids='A-3' is in the collection already"),
        (["new", "new"], ValueError, "new"),
        ([1, 2], ValueError, "string"),
        (["new"], ValueError, "1 entries for 2 codes"),
        (None, ValueError, "the ids stored here are strings"),
    ],
)
def test_items_are_added_all_or_none(shop, rows, ids, error, words):
    before = shop.version
    with pytest.raises(error, match=words):
        shop.add(rows[:2], ids)
    assert (len(shop), shop.version) == (30, before)
    shop.check()


def test_a_change_builds_no_look_up_of_ids_in_memory(shop, rows):
    """SQLite knows them; to sort a million takes longer than the change."""
    shop.add(rows[40:42], ["x", "y"])
    shop.remove(["A-3", "x"])
    with pytest.raises(ValueError, match="'y' is in the collection already"):
        shop.add(rows[:1], ["y"])
    assert shop.index._positions is None
    assert shop.ids.tolist() == [item for item in [*IDS, "y"] if item != "A-3"]


def test_an_unknown_id_is_named(shop):
    for call in (lambda: shop.remove(["A-1", "B-1"]), lambda: shop.codes_of(["B-1"]), lambda: shop.details("B-1")):
        with pytest.raises(KeyError, match="B-1"):
            call()
    with pytest.raises(KeyError, match="B-1"):
        shop.search(id="B-1")
    assert len(shop) == 30


def test_a_search_takes_rows_or_an_id(shop, rows):
    for given in ({}, {"queries": rows[:1], "id": "A-1"}):
        with pytest.raises(ValueError, match="rows or the id"):
            shop.search(**given)


def test_ids_of_an_array_are_ids(tmp_path, hasher, rows):
    write(tmp_path / "n.thpi", hasher, hasher.transform(rows[:3]), [4, 9, 2], about={}, details={9: Details("nine")})
    with Collection(tmp_path / "n.thpi") as shop:
        item = shop.ids[1]
        assert shop.details(item) == Details("nine")
        assert item in shop
        assert shop.search(id=item, k=2).ids.shape == (1, 2)
        shop.remove(shop.ids[:1])
        assert shop.ids.tolist() == [9, 2]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        shop.remove([9])


@pytest.mark.parametrize("item", ["a\0b", "\\u0000", '"', "\n", "\N{SNOWMAN}", "", "'; DROP TABLE item; --"])
def test_any_text_is_an_id(path, rows, item):
    with Collection(path) as shop:
        shop.add(rows[40:42], [item, "other"])
        shop.check()
        assert item in shop
    with Collection(path) as shop:
        assert shop.ids.tolist()[-2:] == [item, "other"]
        np.testing.assert_array_equal(shop.codes_of([item]), shop.hasher.transform(rows[40:41]))
        shop.remove([item])
        shop.check()


def test_numbers_go_on_from_the_largest_id(tmp_path, hasher, rows):
    write(tmp_path / "n.thpi", hasher, hasher.transform(rows[:3]), [4, 9, 2], about={})
    with Collection(tmp_path / "n.thpi") as shop:
        assert shop.add(rows[3:5]).tolist() == [10, 11]
        shop.remove([11, 10, 9, 4, 2])
        assert len(shop) == 0
        assert shop.search(rows[:2]).ids.shape == (2, 0)
        assert shop.add(rows[:1]).tolist() == [0]
        assert shop.add(rows[:1], [7]).tolist() == [7]


def test_a_two_sided_model_adds_items_by_their_source(tmp_path):
    rng = np.random.RandomState(0)
    S = rng.standard_normal((80, 6))
    X = S @ rng.standard_normal((6, 10)) + 0.1 * rng.standard_normal((80, 10))
    model = thpi.TwoSidedITQ(5, random_state=0).fit(X[:60], privileged=S[:60])
    with thpi.build(
        tmp_path / "two.thpi", X[:60], privileged=S[:60], hasher=thpi.TwoSidedITQ(5, random_state=0)
    ) as two:
        np.testing.assert_array_equal(two.codes_of([3]), model.transform_source(S[3:4]))
        two.add(S[60:], side="source")
        np.testing.assert_array_equal(two.codes_of([60]), model.transform_source(S[60:61]))
        with pytest.raises(ValueError, match="side='left'"):
            two.add(S, side="left")


def test_another_model_takes_the_place_of_the_first(shop, path, rows):
    other = thpi.LSH(9, random_state=1).fit(rows)
    with Collection(path) as reader:
        shop.replace(other, other.transform(rows[:30])[::-1], IDS[::-1], evidence={"why": "new"})
        assert reader.refresh()
        for each in (shop, reader):
            assert (each.n_bits, each.model, each.evidence) == (9, other.fingerprint_, {"why": "new"})
            assert each.ids.tolist() == IDS
            np.testing.assert_array_equal(each.index.codes, other.transform(rows[:30]))
            np.testing.assert_array_equal(each.hasher.transform(rows), other.transform(rows))
            assert each.details("A-3") == Details("a red cap")
    with pytest.raises(ValueError, match="A-0"):
        shop.replace(other, other.transform(rows[:29]), IDS[1:])


def test_a_model_is_read_with_its_codes(path, rows):
    """Another process replaces the model before this one has read it."""
    other = thpi.LSH(12, random_state=1).fit(rows)
    with Collection(path) as late, Collection(path) as shop:
        shop.replace(other, other.transform(rows[:30]), IDS)
        found, expected = late.search(rows[40:45], 4), shop.search(rows[40:45], 4)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(late.hasher.transform(rows), other.transform(rows))
        assert late.model == other.fingerprint_


def test_a_search_never_mixes_two_models(path, rows):
    """A row is at distance 0 of its own code, whichever model there is."""
    models = [thpi.LSH(12, random_state=seed).fit(rows) for seed in (1, 2)]
    wrong, done = [], threading.Event()

    def search() -> None:
        while not done.is_set():
            found = shop.search(rows[:5], 1)
            if found.distances.any():
                wrong.append(found)

    with Collection(path) as shop:
        shop.replace(models[0], models[0].transform(rows[:30]), IDS)
        threads = [threading.Thread(target=search) for _ in range(2)]
        for thread in threads:
            thread.start()
        for turn in range(30):
            model = models[turn % 2]
            shop.replace(model, model.transform(rows[:30]), IDS)
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong


def test_changes_of_others_are_seen_after_a_refresh(shop, path, rows):
    with Collection(path) as other:
        assert not shop.refresh()
        other.add(rows[30:33], ["x", "y", "z"])
        other.remove(["A-0", "y"])
        assert len(shop) == 30
        assert shop.refresh()
        assert not shop.refresh()
        assert shop.ids.tolist() == [*IDS[1:], "x", "z"] == other.ids.tolist()
        assert shop.version == other.version
        shop.add(rows[:1], ["mine"])
        other.add(rows[1:2], ["theirs"])  # sees the first one before it writes
        assert other.ids.tolist()[-2:] == ["mine", "theirs"]


def test_searches_go_on_if_the_file_is_damaged(shop, path, rows):
    before, whole = shop.search(rows[:3], 4), path.read_bytes()
    damaged = whole.replace(b'["A-0"', b'["B-0"')
    assert damaged != whole
    for content in (damaged, b"", b"something else"):
        path.with_name("new").write_bytes(content)
        path.with_name("new").replace(path)
        with pytest.raises(CollectionFileError, match="shop"):
            shop.refresh()
        np.testing.assert_array_equal(shop.search(rows[:3], 4).ids, before.ids)
    path.with_name("new").write_bytes(whole)
    path.with_name("new").replace(path)
    shop.refresh()
    assert shop.ids.tolist() == IDS


def test_a_file_that_was_replaced_is_the_one_that_is_read_and_changed(shop, path, hasher, rows):
    write(path, hasher, hasher.transform(rows[40:42]), ["p", "q"], about={})
    assert shop.refresh()
    assert shop.ids.tolist() == ["p", "q"]
    write(path, hasher, hasher.transform(rows[40:43]), ["p", "q", "r"], about={})
    shop.add(rows[:1], ["s"])
    with Collection(path) as again:
        assert again.ids.tolist() == ["p", "q", "r", "s"] == shop.ids.tolist()


def test_threads_search_while_one_changes(shop, rows):
    wrong: list[object] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            found = shop.search(rows[:4], 5)
            for row, ids in zip(rows[:4], found.ids, strict=True):
                if not set(ids.tolist()) <= {*IDS, *(f"n{n}" for n in range(40))} or len(set(ids)) < 5:
                    wrong.append((row, ids))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for n in range(40):
            shop.add(rows[n : n + 1], [f"n{n}"])
            if n % 2:
                shop.remove([f"n{n - 1}"])
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert len(shop) == 50


class Changes(RuleBasedStateMachine):
    """Two connections change one file, with pages of four items; a dictionary says what must be there."""

    model = thpi.LSH(10, random_state=0).fit(np.random.RandomState(0).standard_normal((20, 6)))

    def __init__(self) -> None:
        super().__init__()
        self.length = _file.LENGTH
        _file.LENGTH = _collection.LENGTH = 4
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "c.thpi"
        write(path, self.model, np.empty((0, 2), np.uint8), [], about={})
        self.both = [Collection(path), Collection(path)]
        self.known: dict[int, bytes] = {}

    def teardown(self) -> None:
        for each in self.both:
            each.close()
        self.folder.cleanup()
        _file.LENGTH = _collection.LENGTH = self.length

    @rule(which=st.integers(0, 1), new=st.lists(st.integers(0, 40), min_size=1, max_size=9, unique=True))
    def add(self, which, new):
        codes = np.random.RandomState(sum(new)).randint(0, 256, (len(new), 2)).astype(np.uint8)
        codes[:, 1] &= 3
        if set(new) & set(self.known):
            with pytest.raises(ValueError, match="already"):
                self.both[which].add_codes(codes, new)
        else:
            self.both[which].add_codes(codes, new)
            self.known |= {item: code.tobytes() for item, code in zip(new, codes, strict=True)}

    @rule(which=st.integers(0, 1), share=st.floats(0, 1))
    def remove(self, which, share):
        gone = [item for item in self.known if hash((item, share)) % 100 < 100 * share]
        self.both[which].remove(gone)
        for item in gone:
            del self.known[item]

    @invariant()
    def both_hold_the_same(self):
        for each in self.both:
            each.refresh()
            assert {item: code.tobytes() for item, code in each} == self.known
            assert each.ids.tolist() == list(self.known)
        self.both[0].check()


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
