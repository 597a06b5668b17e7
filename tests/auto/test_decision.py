from __future__ import annotations

import json

import numpy as np
import pytest

from thpi import ITQ, ITQPlus, TransferITQ
from thpi.auto import RELEVANCES, Candidate, FoldScores
from thpi.auto._decision import decide

FOLD_OF = np.repeat([0, 1, 2], 40)
SOURCE = RELEVANCES["source"]
START = SOURCE.default
MILD, BOLD, PAPER = Candidate(TransferITQ), Candidate(TransferITQ), Candidate(ITQPlus)


def _scores(mean, seed=0):
    """Scores of 120 queries, 1 above or below their mean; the mean of each fold is exact."""
    rng = np.random.RandomState(seed)
    swing = np.concatenate([rng.permutation(np.repeat([1.0, -1.0], 20)) for _ in range(3)])
    return FoldScores((40 + mean + swing)[None], FOLD_OF)


def _choice(scores, listed=(START, MILD, BOLD), n_standard_errors=1.0):
    return decide(listed, dict(zip(listed, scores, strict=True)), SOURCE, n_standard_errors)[0]


def test_a_gain_must_exceed_standard_errors_and_half_a_percent():
    error = np.sqrt(2 / 120)
    for gain, taken in ((0.0, False), (0.2 + 0.5 * error, False), (0.2 + 3 * error, True)):
        found = _choice([_scores(0), _scores(gain, seed=1), _scores(-5, seed=2)])
        assert (found is MILD) == taken
    assert _choice([_scores(0), _scores(3, seed=1), _scores(-5, seed=2)], n_standard_errors=100.0) is START


def test_of_equals_the_first_is_taken():
    assert _choice([_scores(0), _scores(5, seed=1), _scores(5.02, seed=1)]) is BOLD  # surely better, by little
    assert _choice([_scores(0), _scores(5, seed=1), _scores(5.02, seed=2)]) is MILD
    assert _choice([_scores(0), _scores(5, seed=1), _scores(9, seed=2)]) is BOLD


def test_methods_that_do_not_begin_at_itq_must_lead_by_more():
    error = np.sqrt(2 / 120)
    for gain, taken in ((0.2 + 2 * error, False), (0.2 + 8 * error, True)):
        assert (_choice([_scores(0), _scores(gain, seed=1)], (START, PAPER)) is PAPER) == taken


def test_scores_of_one_fold_are_no_rivals_and_stand_last():
    part = FoldScores(_scores(30).precisions[:, :40], FOLD_OF[:40])
    chosen, evidence = decide(
        [START, MILD, PAPER], {START: _scores(0), MILD: _scores(3, seed=1), PAPER: part}, SOURCE, 1.0
    )
    assert chosen is MILD
    entries = json.loads(evidence["candidates_json_"])
    assert [entry["method"] for entry in entries] == ["NeighbourHash", "TransferITQ", "ITQPlus"]
    assert [entry["chosen"] for entry in entries] == [False, True, False]
    assert entries[-1]["gain"] == pytest.approx(30)
    assert evidence["gain_"] == pytest.approx(entries[1]["gain"])


def test_what_was_not_tried_is_left_out_and_without_scores_the_first_is_taken():
    chosen, evidence = decide([START, MILD, PAPER], {START: _scores(0), MILD: _scores(3, seed=1)}, SOURCE, 1.0)
    assert chosen is MILD
    assert len(json.loads(evidence["candidates_json_"])) == 2
    chosen, evidence = decide([START, MILD], None, SOURCE, 1.0)
    assert chosen is START
    assert evidence["gain_"] == 0
    assert [entry["score"] for entry in json.loads(evidence["candidates_json_"])] == [None, None]


def test_a_source_that_may_not_be_used_is_evidence_all_the_same():
    scores = {START: _scores(0), MILD: _scores(5, seed=1), BOLD: _scores(-5, seed=2)}
    chosen, evidence = decide([START, MILD, BOLD], scores, SOURCE, 1.0, may_use_source=False)
    assert chosen is START
    free = decide([START, MILD, BOLD], scores, SOURCE, 1.0)[1]
    for found, expected in zip(*(json.loads(e["candidates_json_"]) for e in (evidence, free)), strict=True):
        assert found | {"chosen": None} == expected | {"chosen": None}
    assert evidence["gain_"] == pytest.approx(5)


def test_if_the_source_decides_what_is_relevant_and_may_not_be_used_no_score_counts():
    rival = Candidate(ITQ, uses_source=False, kernel=True)
    for relevance in ("source", "groups", "labels"):
        start = RELEVANCES[relevance].default
        scores = {start: _scores(0), rival: _scores(9, seed=1), MILD: _scores(20, seed=2)}
        chosen = decide([start, rival, MILD], scores, RELEVANCES[relevance], 1.0, may_use_source=False)[0]
        assert chosen is (rival if relevance == "labels" else start)
