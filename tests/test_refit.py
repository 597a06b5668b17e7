"""Refit: what it measures, the recoded index, and a replacement that is killed at every step."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

import thpi
from thpi.codes import unpack
from thpi.datasets import load_digits_views
from thpi.index import HammingIndex
from thpi.refit import finish_refit, journal_of, recoded, refit, save_refit


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
        ("source", "the 10 nearest by the source"),
        ("labels", "the same class"),
        ("target", "the 10 nearest rows"),
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


@pytest.mark.parametrize("strings", [False, True])
def test_a_recoded_index_has_the_same_items(digits, strings):
    X = digits.target[:100]
    one, other = (thpi.LSH(n_bits=12, random_state=seed).fit(X) for seed in (0, 1))
    ids = [f"é,{i}" for i in range(100)] if strings else (np.arange(100) * 7 - 9)
    kept = [50, 3, 99]
    index = HammingIndex(12, 0.9, random_state=4)
    index.add(one.transform(X[kept]), [ids[i] for i in kept])
    new = recoded(index, other, X, ids)
    assert new.ids.tolist() == index.ids.tolist()
    assert (new.recall, new.random_state) == (0.9, 4)
    np.testing.assert_array_equal(new.codes, other.transform(X[kept]))
    with pytest.raises(KeyError, match="has no row"):
        recoded(index, other, X[:99], ids[:99])
    assert len(recoded(HammingIndex(12), other, X)) == 0


STEPS = """
import os, signal, sys
import numpy as np, thpi
from thpi.index import HammingIndex
from thpi.refit import recoded, save_refit

left, rename = int(sys.argv[3]), os.replace

def replace(*arguments):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(*arguments)

os.replace = replace
X = np.load(sys.argv[4])
hasher = thpi.LSH(n_bits=12, random_state=1).fit(X)
save_refit(sys.argv[1], hasher, recoded(HammingIndex.open(sys.argv[2]), hasher, X), sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", range(1, 7))
def test_a_kill_at_any_step_leaves_the_old_pair_or_the_new_one(digits, tmp_path, step):
    X = digits.target[:60]
    model, index = tmp_path / "shop.thpi", tmp_path / "other" / "shop.index"
    index.parent.mkdir()
    np.save(tmp_path / "x.npy", X)
    old, new = (thpi.LSH(n_bits=12, random_state=seed).fit(X) for seed in (0, 1))
    old.save(model)
    shop = HammingIndex(12)
    shop.add(old.transform(X))
    shop.save(index)
    before = model.read_bytes(), index.read_bytes()
    command = [sys.executable, "-c", STEPS, model, index, str(step), tmp_path / "x.npy"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    # Renames: the two new files, the journal, the two files themselves.
    assert done.returncode == (-signal.SIGKILL if step <= 5 else 0), done.stderr
    decided = step in (4, 5)
    assert journal_of(model).exists() is decided
    if step <= 4:
        assert (model.read_bytes(), index.read_bytes()) == before
    assert finish_refit(model) is decided
    expected = old if step <= 3 else new
    np.testing.assert_array_equal(thpi.load(model).projection_, expected.projection_)
    np.testing.assert_array_equal(HammingIndex.open(index).codes, expected.transform(X))
    assert not journal_of(model).exists()
    # The next one works, whatever is left over.
    save_refit(model, new, recoded(HammingIndex.open(index), new, X), index)
    np.testing.assert_array_equal(HammingIndex.open(index).codes, new.transform(X))
    np.testing.assert_array_equal(thpi.load(model).projection_, new.projection_)
    assert not [path.name for path in (*tmp_path.iterdir(), *index.parent.iterdir()) if path.name.endswith(".new")]


def test_an_error_while_writing_leaves_everything(digits, tmp_path):
    X = digits.target[:60]
    hasher = thpi.LSH(n_bits=12, random_state=0).fit(X)
    hasher.save(tmp_path / "shop.thpi")
    before = (tmp_path / "shop.thpi").read_bytes()
    with pytest.raises(FileNotFoundError):
        save_refit(tmp_path / "shop.thpi", hasher, HammingIndex(12), tmp_path / "gone" / "shop.index")
    assert [path.name for path in tmp_path.iterdir()] == ["shop.thpi"]
    assert (tmp_path / "shop.thpi").read_bytes() == before


def test_a_damaged_journal_is_one_clear_error(tmp_path):
    journal_of(tmp_path / "m").write_text("{")
    with pytest.raises(ValueError, match="not a list of files to replace"):
        finish_refit(tmp_path / "m")
