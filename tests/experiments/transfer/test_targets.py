from __future__ import annotations

import pytest

from experiments.transfer.lines import LINES
from experiments.transfer.results import Setting, TransferResults
from experiments.transfer.settings import quick_settings
from experiments.transfer.targets import judge_targets

SETS = ("digits-fac-pix", "bbc")


def _judged(
    relevance,
    auto,
    all_target=(33.0, 33.0),
    control=(30.0, 30.0),
    lap=(30.5, 30.5),
    no_source=(30.0, 30.0),
    unlabelled=(31.0, 31.0),
    unlabelled_control=(30.0, 30.0),
    unlabelled_no_source=(30.0, 30.0),
    told_source=(31.0, 31.0),
    told_source_control=(30.0, 30.0),
    told_source_no_source=(30.0, 30.0),
    rivals=None,
    words=False,
):
    """Judge two sets, two splits, where ITQ has 30 throughout."""
    results = TransferResults.__new__(TransferResults)
    run = tuple(key for key, line in LINES.items() if line.role != "rival" or key in (rivals or {}))
    results.settings = quick_settings(sets=SETS, alphas=(0.1,), relevances=(relevance,), lines=run)
    results.left_out, results.sizes, results._about = {}, {}, {}
    lines = {"itq": (30.0, 30.0), "itq_plus": (30.0, 30.0), "transfer_itq": (30.0, 30.0), "lap_itq_plus": lap}
    lines |= {"auto": auto, "auto_shuffled": control, "itq_all": all_target, "auto_no_source": no_source}
    lines |= {"auto_unlabelled": unlabelled, "auto_unlabelled_shuffled": unlabelled_control, "auto_all": (40.0, 40.0)}
    lines |= {"auto_told_source": told_source, "auto_told_source_shuffled": told_source_control}
    lines |= {"auto_unlabelled_no_source": unlabelled_no_source, "auto_told_source_no_source": told_source_no_source}
    lines |= rivals or {}
    results._values = {
        (name, relevance, Setting(0.1, 16), line): {0: values[i], 1: values[i] + (0.2 if line == "auto" else 0)}
        for line, values in lines.items()
        for i, name in enumerate(SETS)
    }
    return [j if words else j.met for j in judge_targets(results)]


def test_the_control_has_an_interval_over_splits():
    # The two splits of AutoHasher are 1.0 and 1.2 above: 1.1 with 12.706 (t, one degree of freedom) times 0.1.
    found = _judged("target", (31.0, 31.0), control=(30.2, 30.0), words=True)[3].found
    assert found == "AutoHasher +1.10 (-0.17 to +2.37), with shuffled pairs +0.10 (+0.10 to +0.10)."


def test_targets_for_target_relevance():
    assert _judged("target", (31.5, 31.5)) == [True, True, True, True, False]
    assert _judged("target", (35.0, 28.5)) == [False, False, True, True, False]
    assert _judged("target", (35.0, 33.5))[4] is True  # above ITQ on all target rows, 33
    assert _judged("target", (30.2, 30.2))[2] is False
    assert _judged("target", (31.5, 31.5), all_target=(31.0, 31.0))[2] is None
    assert _judged("target", (31.5, 31.5), control=(31.0, 31.0))[3] is False


def test_targets_for_labels_and_source():
    assert _judged("source", (38.0, 38.0)) == [True, True, True, True, True, True]
    assert _judged("source", (48.0, 27.0)) == [False, True, False, True, True, False]
    assert _judged("source", (32.0, 32.0)) == [True, False, True, False, True, True]
    assert _judged("source", (38.0, 38.0), all_target=(29.0, 29.0))[3] is None


def test_a_source_without_labels_is_judged_by_class_as_well():
    judged = _judged("labels", (38.0, 38.0), unlabelled=(38.0, 30.0))
    assert judged[:5] == [True, True, True, True, True]
    assert judged[5:10] == [True, False, False, True, True]
    assert _judged("labels", (38.0, 38.0), unlabelled=(38.0, 38.0), unlabelled_control=(33.0, 33.0))[9] is False


def test_what_was_told_nearness_in_the_source_is_judged_by_class_too():
    assert _judged("labels", (38.0, 38.0), told_source=(38.0, 30.0))[10:15] == [True, False, False, True, True]
    kept = _judged("labels", (38.0, 38.0), told_source=(38.0, 38.0), told_source_control=(33.0, 33.0))
    assert kept[10:15] == [True, True, True, True, False]


def test_what_a_learner_gives_alone_is_not_counted_against_the_control():
    kept = {"control": (37.1, 37.1), "no_source": (37.0, 37.0)}
    for relevance in ("labels", "source"):
        assert _judged(relevance, (38.0, 38.0), **kept)[4] is True
    for line, place in (("unlabelled", 9), ("told_source", 14)):
        kept = {line: (38.0, 38.0), f"{line}_control": (37.1, 37.1)}
        assert _judged("labels", (38.0, 38.0), **kept)[place] is False
        assert _judged("labels", (38.0, 38.0), **kept, **{f"{line}_no_source": (37.0, 37.0)})[place] is True
    assert _judged("source", (38.0, 38.0), control=(37.1, 37.1))[4] is False


@pytest.mark.parametrize("outcome", ["met", "not met", "cannot be judged here"])
def test_outcomes_have_words(outcome):
    from experiments.transfer.targets import Judged

    met = {"met": True, "not met": False, "cannot be judged here": None}[outcome]
    assert Judged("target", "", met, "").outcome == outcome


def test_a_set_not_above_the_papers_method_is_named_with_its_interval():
    # LapITQ+ has 30.5; the two splits of AutoHasher differ by 0.2.
    below, above = (_judged("source", (38.0, auto), words=True)[2] for auto in (30.3, 30.6))
    assert (below.met, below.found) == (False, "not above: bbc -0.10 (-1.37 to +1.17).")
    assert (above.met, above.found) == (True, "least apart: bbc +0.20 (-1.07 to +1.47).")


def test_auto_hasher_is_judged_by_the_best_rival_of_each_set():
    rivals = {"rival_kernel_pca": (30.0, 31.0), "rival_thermometer": (29.0, 33.0)}
    near, above = _judged("target", (31.5, 32.5), rivals=rivals, words=True)[5:]
    # The mean of the two splits of AutoHasher is 0.1 higher: 31.6 against 30, and 32.6 against 33.
    assert (near.met, above.met) == (True, False)
    assert near.found.startswith("below on 0 of 2 sets; lowest: bbc -0.40")
    assert near.found.endswith("offsets on principal directions.")
    assert above.found == "+0.60 over 2 sets (digits-fac-pix +1.60, bbc -0.40)."
    assert [j.met for j in _judged("target", (33.0, 32.3), rivals=rivals, words=True)[5:]] == [False, True]
    assert [j.met for j in _judged("target", (33.0, 32.9), rivals=rivals, words=True)[5:]] == [True, True]


def test_what_was_told_groups_is_judged_by_rivals_that_were_told_groups():
    rivals = {"rival_one_hot": (37.0, 37.0), "rival_clusters_groups": (36.0, 30.0)}
    judged = _judged("labels", (38.0, 38.0), unlabelled=(35.0, 33.0), rivals=rivals, words=True)[-4:]
    assert [j.met for j in judged] == [True, True, False, True]
    assert judged[2].target.startswith("AutoHasher, source but no labels: on no set more than 0.5 below the best rival")
    assert judged[2].found.startswith("below on 1 of 2 sets; lowest: digits-fac-pix -1.00")


def test_rivals_are_judged_where_nothing_but_them_and_auto_hasher_was_run():
    results = TransferResults.__new__(TransferResults)
    lines = ("itq", "auto", "rival_kernel_pca")
    results.settings = quick_settings(sets=SETS, alphas=(0.1,), relevances=("target",), lines=lines)
    results._values = {(name, "target", Setting(0.1, 16), line): {0: 30.0, 1: 30.0} for name in SETS for line in lines}
    assert [j.met for j in judge_targets(results)] == [True, False]
