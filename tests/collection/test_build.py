"""Building: what is learned is what the method learns by itself, and all items are coded."""

from __future__ import annotations

import numpy as np
import pytest

import thpi
import thpi.rows
from thpi.collection import Collection, Details


@pytest.fixture(scope="module")
def views():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((120, 5))
    X = np.hstack([S[:60], 3 * rng.standard_normal((60, 10))])
    return X, S[:60], S[60:]


def test_without_a_source_it_is_itq(tmp_path, views):
    X = views[0]
    with thpi.build(tmp_path / "a.thpi", X, bits=8, random_state=3) as shop:
        plain = thpi.ITQ(8, random_state=3).fit(X)
        np.testing.assert_array_equal(shop.index.codes, plain.codes_)
        assert shop.about["method"] == "ITQ"
        assert shop.evidence["method"] == "ITQ"
        assert shop.ids.tolist() == list(range(60))


def test_with_a_source_it_is_autohasher_and_its_findings_are_kept(tmp_path, views):
    X, S, more = views
    auto = thpi.AutoHasher(8, relevance="source", random_state=1).fit(X, privileged=S, source=more)
    given = {"privileged": S, "source": more, "relevance": "source", "bits": 8, "random_state": 1}
    with thpi.build(tmp_path / "a.thpi", X, **given) as shop:
        np.testing.assert_array_equal(shop.index.codes, auto.codes_)
        assert shop.evidence["choice"] == auto.choice_
        assert shop.evidence["gain"] == auto.gain_
        assert shop.evidence["gain_interval"] == list(auto.gain_interval_)
        assert [entry["name"] for entry in shop.evidence["candidates"]] == [each["name"] for each in auto.candidates_]
        assert shop.about["settings"]["relevance"] == "source"


def test_items_without_a_source_are_items_too(tmp_path, views):
    X, S, _ = views
    with thpi.build(
        tmp_path / "a.thpi", X[:40], privileged=S[:40], target=X[40:], bits=6,
        ids=[f"p{n}" for n in range(40)], target_ids=[f"t{n}" for n in range(20)], details={"t3": Details("tee")},
    ) as shop:  # fmt: skip
        assert len(shop) == 60
        np.testing.assert_array_equal(shop.codes_of(["t3", "p0"]), shop.hasher.transform(X[[43, 0]]))
        assert shop.details("t3").text == "tee"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ids": [1] * 60}, "1"),
        ({"ids": [1, 2]}, "2 entries for 60"),
        ({"target_ids": [1]}, "all items have ids, or none"),
        ({"relevance": "source"}, "needs source rows"),
        ({"bits": 100}, "more than ITQ can give"),
        ({"hasher": thpi.LSH(4), "relevance": "target"}, "set it in hasher"),
    ],
)
def test_nothing_is_written_if_anything_is_wrong(tmp_path, views, given, words):
    with pytest.raises(ValueError, match=words):
        thpi.build(tmp_path / "a.thpi", views[0], **given)
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_replaced_only_if_asked(tmp_path, views):
    path = tmp_path / "a.thpi"
    thpi.build(path, views[0], bits=4).close()
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="force=True"):
        thpi.build(path, views[0], bits=5)
    assert path.read_bytes() == before
    with thpi.build(path, views[0], bits=5, force=True):
        pass
    with Collection(path) as shop:
        assert shop.n_bits == 5
    assert [each.name for each in tmp_path.iterdir()] == ["a.thpi"]


def test_the_same_rows_and_seed_give_the_same_bytes(tmp_path, views):
    for name in ("a", "b"):
        thpi.build(tmp_path / name, views[0], bits=8, about={"title": "t"}).close()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_rows_that_are_read_in_blocks_are_coded_in_blocks(tmp_path, views):
    X = views[0]
    rows = thpi.rows.Blocks(lambda: iter([X[:25], X[25:]]))
    with thpi.build(tmp_path / "a.thpi", rows, bits=4, hasher=thpi.LSH(4, random_state=0)) as shop:
        np.testing.assert_array_equal(shop.index.codes, shop.hasher.transform(X))
        assert shop.ids.tolist() == list(range(60))
