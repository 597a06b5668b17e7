"""Refit: what it measures, and a collection that is replaced in one step, or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

import thpi
from thpi.codes import unpack
from thpi.collection import Details, write
from thpi.datasets import load_digits_views
from thpi.refit import refit, refit_collection


@pytest.fixture(scope="module")
def digits():
    return load_digits_views(target="kar", source="fou")


def test_the_gain_is_that_of_brute_force(digits):
    rows = np.random.RandomState(3).permutation(digits.n)[:300]
    X = digits.target[rows]
    old = thpi.ITQ(n_bits=16, random_state=0).fit(X[:40])
    found = refit(old, X, n_old=40, random_state=5)
    expected = thpi.ITQ(n_bits=16, random_state=0).fit(X)
    np.testing.assert_array_equal(found.hasher.projection_, expected.projection_)
    changed = unpack(old.transform(X), 16) != unpack(expected.transform(X), 16)
    assert found.bits_changed == pytest.approx(changed.mean())
    order = 40 + np.random.RandomState(5).permutation(260)
    asked, rest = X[np.sort(order[:60])], X[np.sort([*range(40), *order[60:]])]
    assert (found.gain.n_queries, found.gain.n_database) == (60, 240)
    for values, hasher in (
        (found.gain.old, old),
        (found.gain.new, thpi.ITQ(n_bits=16, random_state=0).fit(rest)),
    ):
        total = 0.0
        for query, bits in zip(asked, unpack(hasher.transform(asked), 16), strict=True):
            near = np.argsort(np.linalg.norm(rest - query, axis=1))[:10]
            distances = (unpack(hasher.transform(rest), 16) != bits).sum(axis=1)
            tenth = np.sort(distances)[9]
            sure, tied = distances < tenth, distances == tenth
            # Of those tied at the tenth place each is as likely to be shown.
            total += sure[near].sum() + tied[near].sum() * (10 - sure.sum()) / tied.sum()
        assert values["recall@10"] == pytest.approx(total / 600)


@pytest.mark.slow
def test_relevance_is_that_of_the_model(digits):
    rows = np.random.RandomState(0).permutation(digits.n)[:130]
    X, S, y = digits.target[rows], digits.source[rows], digits.labels[rows]
    for relevance, meaning in (
        ("source", "near in source space: the 10 nearest rows"),
        ("labels", "same label"),
        ("target", "near in target space: the 10 nearest rows"),
    ):
        old = thpi.AutoHasher(n_bits=8, relevance=relevance, random_state=0).fit(X[:60], y[:60], privileged=S[:60])
        found = refit(old, X, y, privileged=S)
        assert found.gain.relevant == meaning
        assert 0 < found.gain.new["average_precision"] < 1


def test_few_rows_are_refused(digits):
    old = thpi.LSH(n_bits=8, random_state=0).fit(digits.target)
    with pytest.raises(ValueError, match="X has 20 rows; at least 25"):
        refit(old, digits.target[:20])
    assert refit(old, digits.target[:50], n_old=45).gain.n_queries == 10  # 5 new rows are too few: from all
    assert refit(old, digits.target[:50], n_old=20).gain.n_queries == 10


@pytest.fixture(params=[False, True], ids=["integers", "texts"])
def shop(request, digits, tmp_path):
    """Three items out of a hundred rows, two of them with something to show, and the ids of all rows."""
    ids = [f"é,{i}" for i in range(100)] if request.param else (np.arange(100) * 7 - 9).tolist()
    hasher = thpi.LSH(n_bits=12, random_state=0).fit(digits.target[:60])
    kept = [50, 3, 99]
    names, codes = [ids[i] for i in kept], hasher.transform(digits.target[kept])
    details = {ids[3]: Details("a three"), ids[99]: Details(None, b"picture")}
    write(tmp_path / "shop.thpi", hasher, codes, names, about={"recall": 0.9}, details=details)
    with thpi.open(tmp_path / "shop.thpi") as opened:
        yield opened, ids, kept


def test_a_collection_has_the_same_items_with_the_codes_of_the_new_model(shop, digits):
    opened, ids, kept = shop
    X = digits.target[:100]
    before = opened.path.read_bytes()
    found = refit_collection(opened, X, ids=ids, write=False)
    assert opened.path.read_bytes() == before
    old = opened.model
    again = refit_collection(opened, X, ids=ids)
    assert again.hasher.fingerprint_ == found.hasher.fingerprint_ == opened.model != old
    assert again.gain == found.gain
    with thpi.open(opened.path) as other:  # and on disk
        assert other.ids.tolist() == [ids[i] for i in kept]
        np.testing.assert_array_equal(other.index.codes, again.hasher.transform(X[kept]))
        np.testing.assert_array_equal(other.hasher.transform(X), again.hasher.transform(X))
        assert other.details(ids[3]).text == "a three"
        assert other.details(ids[99]).thumbnail == b"picture"
        assert (other.about["recall"], other.about["fingerprint"]) == (0.9, other.hasher.fingerprint_)
        assert other.evidence["rows"] == 100
        other.check()


def test_items_without_a_source_row_are_coded_too(digits, tmp_path):
    X, S = digits.target[:150], digits.source[:150]
    options = {"hasher": thpi.ITQPlus(n_bits=8, random_state=0)}
    with thpi.build(tmp_path / "shop.thpi", X[:100], privileged=S[:100], **options) as shop:
        shop.add(X[100:120])
        found = refit_collection(
            shop, X[:110], privileged=S[:110], ids=np.arange(110), target=X[110:], target_ids=np.arange(110, 150)
        )
        np.testing.assert_array_equal(shop.index.codes, found.hasher.transform(X[:120]))
        with pytest.raises(ValueError, match=r"X has no row for 10 items of the collection: 110, 111, 112, \.\.\."):
            refit_collection(shop, X[:110], privileged=S[:110])


def test_names_of_columns_stay(digits, tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(digits.target[:80], columns=[f"kar{j}" for j in range(digits.target.shape[1])])
    with thpi.build(tmp_path / "shop.thpi", table[:50], bits=8) as shop:
        refit_collection(shop, table.to_numpy())
        assert list(shop.hasher.feature_names_in_) == list(table.columns)


KILLED = """
import os, signal, sqlite3, sys
import numpy as np, thpi
from thpi.collection._file import CollectionFile
from thpi.refit import refit_collection

left, execute = int(sys.argv[2]), CollectionFile.execute

def counted(self, statement, *values):
    global left
    if statement.startswith(("DELETE", "INSERT", "UPDATE")):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, statement, *values)

CollectionFile.execute = counted
refit_collection(thpi.open(sys.argv[1]), np.load(sys.argv[3]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 2, 4, 7, 1000])
def test_a_kill_at_any_step_leaves_the_old_collection_or_the_new_one(digits, tmp_path, step):
    X = digits.target[:60]
    np.save(tmp_path / "x.npy", X)
    with thpi.build(tmp_path / "shop.thpi", X[:40], bits=12) as shop:
        shop.add(X[40:])
        before = shop.model
    command = [sys.executable, "-c", KILLED, str(tmp_path / "shop.thpi"), str(step), str(tmp_path / "x.npy")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == (0 if step == 1000 else -signal.SIGKILL), done.stderr
    with thpi.open(tmp_path / "shop.thpi") as shop:
        shop.check()
        np.testing.assert_array_equal(shop.index.codes, shop.hasher.transform(X))
        assert (shop.model == before) is (step != 1000)
