"""The answer is right where it is known beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from thpi import ITQ, AutoHasher, diagnose
from thpi.auto import RELEVANCES
from thpi.base import TooManyBitsError, Whole
from thpi.evaluation import Answer, PairedDifference
from thpi.evaluation.models._diagnose import LearningCurve, _by_score, divide
from thpi.rows import Blocks

FEW = {"n_bits": 8, "random_state": 0}


def _classes(n, rng):
    """Five classes in six directions of the source; in the target they drown in louder directions."""
    labels = rng.randint(5, size=n)
    S = 4 * rng.standard_normal((5, 6))[labels] + rng.standard_normal((n, 6))
    X = np.hstack([0.5 * S, 3 * rng.standard_normal((n, 12))])
    return X, S, labels


@pytest.fixture(scope="module")
def informative():
    X, S, _ = _classes(260, np.random.RandomState(0))
    return diagnose(X[:160], S[:160], S[160:], relevances=["source"], **FEW)


@pytest.mark.slow
def test_an_informative_source_helps(informative):
    answer = informative.answers[0]
    assert answer.verdict == "helps"
    assert answer.gain.mean > 5
    assert "The source helps if relevant means near in source space" in answer.sentence
    assert answer.choice in {row["name"] for row in answer.candidates if row["uses_source"]}
    assert answer.with_source - answer.no_source == pytest.approx(answer.gain.mean)


@pytest.mark.slow
def test_a_source_that_is_noise_does_not_help():
    X, _, _ = _classes(80, np.random.RandomState(0))
    noise = np.random.RandomState(1).standard_normal((80, 6))
    found = diagnose(X, noise, relevances=["target"], n_bits=8, n_folds=2, random_state=0)
    assert found.answers[0].verdict in ("makes no difference", "not enough data", "hurts")


@pytest.mark.slow
def test_pairs_in_the_wrong_order_are_called_so(informative):
    assert informative.related
    assert f"explains {100 * informative.pairs_r2:.1f} %" in informative.relation
    assert "check the pairs" not in informative.to_html()
    X, S, _ = _classes(80, np.random.RandomState(0))
    wrong = diagnose(X, np.roll(S, 1, axis=0), relevances=["source"], n_bits=8, n_folds=2, random_state=0)
    assert not wrong.related
    assert wrong.pairs_r2 < 0.02
    assert wrong.answers[0].choice.endswith(" without source")
    assert "80 pairs explain nothing" in wrong.to_dict()["relation"]
    assert "row i of both is not the same item" in wrong.relation
    assert "check the pairs" in wrong.to_html()


@pytest.mark.slow
def test_same_seed_same_answer_and_every_meaning_that_can_be_asked():
    X, S, labels = _classes(40, np.random.RandomState(0))
    small = {"n_bits": 4, "n_folds": 2, "random_state": 0}
    found = diagnose(X, S, y=labels, **small)
    assert found.n_source == 0
    assert [answer.relevance for answer in found.answers] == ["target", "labels", "source"]
    again = diagnose(X, S, y=labels, relevances=["target"], **small)
    assert again.to_dict()["answers"] == found.to_dict()["answers"][:1]


def test_bad_input_is_named():
    X, S, _ = _classes(40, np.random.RandomState(0))
    for arguments, changes, words in (
        ((X, None), {}, "privileged=None"),
        ((X, S[:30]), {}, "privileged has 30 rows and X has 40"),
        ((X, S, S[:, :2]), {}, "source has 2 columns and privileged has 6"),
        ((X, S), {"relevances": ["labels"]}, "needs y"),
        ((X, S), {"relevances": ["near"]}, "'near'"),
        ((X, S), {"relevances": []}, "at least one of target"),
        ((X, S), {"n_folds": 20, "n_bits": 4}, "n_folds=20"),
    ):
        with pytest.raises(ValueError, match=words):
            diagnose(*arguments, **changes)


def _views(relevance, X, S, source=None, y=None, target=None):
    hasher = AutoHasher(4, relevance=relevance, random_state=0)
    return hasher, hasher.check_views(X, y, S, source, target)


def test_folds_of_groups_are_those_of_the_graph_over_all_source_rows():
    rng = np.random.RandomState(0)
    group = rng.randint(3, size=240)
    S = 8 * rng.standard_normal((3, 4))[group] + rng.standard_normal((240, 4))
    hasher, views = _views("groups", rng.standard_normal((60, 5)), S[:60], S[60:])
    folds = divide(hasher, views, RELEVANCES["groups"], 3)
    divisions = KFold(3, shuffle=True, random_state=0).split(np.arange(60))
    for fold, (_, held) in zip(folds, divisions, strict=True):
        # Held-out rows are found among each other: no row whose label was learned from.
        assert fold.relevant.shape == (20, 20)
        same = group[held][:, None] == group[held]
        assert fold.relevant.sum() > 0
        assert (fold.relevant & same).sum() == fold.relevant.sum()


@pytest.mark.slow
@pytest.mark.parametrize("relevance", ["target", "source", "labels", "groups"])
def test_for_one_seed_it_says_what_autohasher_says(relevance):
    X, S, labels = _classes(110, np.random.RandomState(0))
    pairs, rest = slice(0, 60), slice(60, 110)
    auto = AutoHasher(8, relevance=relevance, random_state=7)
    auto.fit(X[pairs], labels[pairs], privileged=S[pairs], source=S[rest])
    found = diagnose(X[pairs], S[pairs], S[rest], labels[pairs], relevances=[relevance], n_bits=8, random_state=7)
    (answer,) = found.answers
    assert (answer.choice, answer.choice_params) == (auto.choice_, auto.choice_params_)
    assert found.pairs_r2 == auto.pairs_r2_
    assert (answer.gain.mean, answer.gain.low, answer.gain.high) == (auto.gain_, *auto.gain_interval_)
    scores = {(e["name"], str(e["params"])): e["scores"] for e in auto.candidates_}
    assert {(e["name"], str(e["params"])): e["scores"] for e in answer.candidates} == scores
    assert [e["chosen"] for e in answer.candidates].count(True) == 1


def test_a_fold_learns_what_fit_learns():
    """The candidate that AutoHasher chooses on the training rows of a fold has the codes of AutoHasher there."""
    X, S, _ = _classes(90, np.random.RandomState(0))
    hasher, views = _views("source", X, S)
    fold = next(iter(divide(hasher, views, RELEVANCES["source"], 3)))
    trial = hasher.trial(fold.training, np.random.RandomState(0))
    chosen = hasher.decide(trial).chosen
    train, _ = next(iter(KFold(3, shuffle=True, random_state=0).split(X)))
    auto = AutoHasher(4, relevance="source", random_state=0).fit(X[train], privileged=S[train])
    assert trial.learn(chosen)["projection_"].tobytes() == auto.projection_.tobytes()


@pytest.mark.slow
def test_groups_are_asked_about_on_request():
    rng = np.random.RandomState(0)
    group = rng.randint(3, size=120)
    S = 5 * rng.standard_normal((3, 4))[group] + rng.standard_normal((120, 4))
    X = np.hstack([S, 6 * rng.standard_normal((120, 6))])
    found = diagnose(X, S, relevances=["groups"], n_bits=8, n_folds=2, random_state=0)
    (answer,) = found.answers
    assert answer.verdict == "helps"
    assert "same group of the source" in answer.sentence
    assert "same group of the source" in found.to_html()


@pytest.mark.slow
def test_the_curve_ends_with_all_pairs(informative):
    curve = informative.answers[0].curve
    assert curve.pairs == (13, 26, 53, 106)
    assert len(curve.with_source) == len(curve.no_source) == 4
    assert all(value is not None for value in curve.with_source)


def test_what_the_curve_says():
    curve = LearningCurve((10, 20, 40), (20.0, 30.0, 33.0), (None, 28.0, 28.1))
    first, second = curve.sentences
    assert "training on 40 pairs scores 3.0 points higher than on half: more pairs are likely" in first
    assert "scores 0.1 points higher than on half: more target rows alone are not likely" in second
    worse = LearningCurve((10, 20), (20.0, 18.4), (None, None)).sentences
    assert len(worse) == 1
    assert "scores 1.6 points lower than on half: more pairs are not likely" in worse[0]
    assert curve.worth == "With the source, 20 pairs are as good as 40 target rows without it."
    assert LearningCurve((10, 20), (20.0, 30.0), (20.0, 28.0)).worth is None
    beside = LearningCurve((10, 20, 40), (20.0, 30.0, 33.0), (None, 28.0, 28.1), more=100)
    assert (
        beside.worth
        == "With the source, 20 pairs beside the 100 rows without one are as good as 140 target rows without it."
    )


@pytest.mark.slow
def test_what_pairs_are_worth_is_said_only_where_the_source_helps(informative):
    helps = informative.answers[0]
    assert helps.curve.worth is not None
    assert helps.outlook == (*helps.curve.sentences, helps.curve.worth)
    unsure = replace(helps, gain=helps.gain._replace(low=-1.0))
    assert unsure.verdict == "not enough data"
    assert unsure.outlook == helps.curve.sentences


@pytest.mark.parametrize(
    ("mean", "low", "high", "verdict"),
    [
        (0.6, 0.1, 1.1, "helps"),
        (-0.6, -1.1, -0.1, "hurts"),
        (0.4, 0.1, 0.9, "makes no difference"),  # sure, and too small to matter
        (0.4, -0.1, 1.1, "not enough data"),
        (-0.4, -1.1, 0.1, "not enough data"),
        (0.0, -1.0, 1.0, "makes no difference"),
    ],
)
def test_verdicts(mean, low, high, verdict):
    """A sure difference of half a point counts; an interval beyond one point is too wide to say that there is none."""
    curve = LearningCurve((), (), ())
    answer = Answer(
        "source", "near", PairedDifference(mean, low, high, 80), 30.0, 30.0, "ITQ", {}, "ITQ", "ITQ", (), curve
    )
    assert answer.verdict == verdict
    assert verdict in answer.sentence.lower()
    for number in (mean, low, high):
        assert f"{number:+.1f}" in answer.sentence


@pytest.mark.slow
def test_the_page_is_whole_and_names_are_escaped(informative):
    from xml.etree import ElementTree

    found = informative.answers[0]
    bad = "<script>alert('&')</script>"
    rows = ({**found.candidates[0], "name": bad, "chosen": True}, {**found.candidates[1], "score": None})
    answer = Answer(**{**vars(found), "choice": bad, "best_with_source": bad, "best_without": bad, "candidates": rows})
    page = replace(informative, answers=(answer,)).to_html()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 4
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    body = page[page.index("<main>") : page.index("</main>") + len("</main>")]
    # Attributes without quotes and images without an end are HTML, not XML.
    plain = body.replace("class=lead", "class='a'").replace("class=claims", "class='a'")
    plain = plain.replace("class=scroll", "class='a'").replace("class=notes", "class='a'")
    import re

    ElementTree.fromstring(re.sub(r"(<img [^>]*)>", r"\1/>", plain))
    assert len(found.curve.draw().axes) == 1


def test_a_score_of_the_first_fold_alone_comes_last():
    """A method that fell behind on the first fold may have met easy queries there."""
    tried = [
        {"name": "ITQ", "score": 40.0, "scores": [60.0, 30.0, 30.0]},
        {"name": "raced", "score": 55.0, "scores": [55.0]},
        {"name": "whole", "score": 45.0, "scores": [65.0, 35.0, 35.0]},
    ]
    rows = _by_score(tried)
    assert [(row["name"], row["on_all_folds"]) for row in rows] == [("whole", True), ("ITQ", True), ("raced", False)]


@pytest.mark.slow
def test_target_rows_without_source_serve_both_sides():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((640, 30)) * np.linspace(3, 0.3, 30)
    pairs, S, more = X[:40], X[:40, :3], X[40:]
    few = diagnose(pairs, S, relevances=["target"], n_bits=16, n_folds=2, random_state=0)
    many = diagnose(pairs, S, target=more, relevances=["target"], n_bits=16, n_folds=2, random_state=0)
    assert (few.n_target, many.n_target) == (0, 600)
    assert "600 target rows without source" in many.rows
    assert "600 target rows without source" in many.to_html()
    assert "without source" not in few.rows
    assert (few.answers[0].curve.more, many.answers[0].curve.more) == (0, 600)
    assert many.answers[0].no_source != few.answers[0].no_source
    assert many.answers[0].with_source != few.answers[0].with_source
    with pytest.raises(ValueError, match="target has 29 columns and X has 30"):
        diagnose(pairs, S, target=more[:, 1:], n_folds=2)


@pytest.mark.slow
def test_unpaired_rows_of_any_kind_are_read():
    X, S, _ = _classes(60, np.random.RandomState(0))
    options = {"relevances": ["target"], "n_bits": 4, "n_folds": 2, "random_state": 0}
    expected = diagnose(X[:40], S[:40], S[40:], target=X[40:], **options).to_dict()
    whole = diagnose(X[:40], S[:40], Whole(S[40:]), target=Whole(X[40:]), **options).to_dict()
    blocks = diagnose(X[:40], S[:40], S[40:], target=Blocks([X[40:50], X[50:]]), **options).to_dict()
    assert str(whole) == str(blocks) == str(expected)
    none = diagnose(X[:40], S[:40], S[:0], target=X[:0], **options)
    assert (none.n_source, none.n_target) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("relevance", RELEVANCES)
def test_more_bits_than_a_fold_has_rows(relevance):
    """ITQ cannot give 32 bits on 20 of the 40 pairs; AutoHasher fits, so diagnose must answer."""
    rng = np.random.RandomState(0)
    shared = rng.standard_normal((40, 5))
    X, S = (shared @ rng.standard_normal((5, d)) + 0.3 * rng.standard_normal((40, d)) for d in (50, 9))
    y = (shared[:, 0] > 0).astype(int)
    with pytest.raises(TooManyBitsError):
        ITQ(32).fit(X[:20])
    AutoHasher(32, relevance=relevance, random_state=0).fit(X, y, privileged=S)
    found = diagnose(X, S, y=y, relevances=[relevance], n_bits=32, n_folds=2, random_state=0)
    assert found.answers[0].verdict in ("helps", "hurts", "makes no difference", "not enough data")
