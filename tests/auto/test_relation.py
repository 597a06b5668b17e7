"""Pairs that were joined in the wrong order are said to be so, everywhere in the same words."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import thpi
from thpi.auto import UnrelatedPairsWarning, relation
from thpi.cli import run

WORDS = "Target and source of the 60 pairs explain nothing of each other"


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((60, 12))  # of narrow views one shift in a hundred goes unnoticed
    return S @ rng.standard_normal((12, 20)) + 0.5 * rng.standard_normal((60, 20)), S


def _wrong(S, how):
    return np.roll(S, 1, axis=0) if how == "shifted" else S[np.random.RandomState(1).permutation(len(S))]


@pytest.mark.parametrize("how", ["shifted", "shuffled"])
def test_fit_warns_where_it_was_called_and_the_model_remembers(pairs, how, tmp_path):
    X, S = pairs
    hasher = thpi.AutoHasher(4, random_state=0)
    with pytest.warns(UnrelatedPairsWarning, match=WORDS) as caught:
        hasher.fit(X, privileged=_wrong(S, how))
    assert caught[0].filename == __file__
    assert not hasher.related_
    assert hasher.relation_ == str(caught[0].message) == relation(60, hasher.pairs_r2_)
    hasher.save(tmp_path / "m.thpi")
    assert thpi.load(tmp_path / "m.thpi").relation_ == hasher.relation_


def test_no_warning_for_pairs_that_fit_or_without_pairs(pairs):
    X, S = pairs
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnrelatedPairsWarning)
        joined = thpi.AutoHasher(4, random_state=0).fit(X, privileged=S)
        alone = thpi.AutoHasher(4, random_state=0).fit(X)
    assert joined.related_
    assert joined.relation_.startswith(
        f"Target and source are related: one explains {100 * joined.pairs_r2_:.1f} % of the other"
    )
    assert (alone.related_, alone.relation_) == (True, None)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["shifted", "shuffled"])
def test_the_commands_say_it_in_the_same_words(pairs, how, tmp_path, capsys):
    X, S = pairs
    np.savez(tmp_path / "pairs.npz", target=X, right=S, wrong=_wrong(S, how))
    files, model = f"{tmp_path / 'pairs.npz'}:", str(tmp_path / "m.thpi")
    build = ["build", model, files + "target", "--bits", "4", "--force", "--privileged"]
    for words in ([*build, files + "wrong"], ["info", model]):
        assert run(words) == 0
        captured = capsys.readouterr()
        assert f"warning {WORDS}" in " ".join(captured.out.split())
        assert captured.err == ""
        assert run([*words, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)["evidence"]
        assert facts["related"] is False
        assert facts["relation"] == relation(60, facts["pairs_r2"])
    diagnose = ["diagnose", files + "target", "--privileged", files + "wrong", "--bits", "4", "--folds", "2"]
    assert run([*diagnose, "--relevance", "target", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["relation"] == facts["relation"]
    assert run([*build, files + "right"]) == 0
    assert "warning" not in capsys.readouterr().out
