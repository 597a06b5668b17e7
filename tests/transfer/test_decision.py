from __future__ import annotations

import json

import numpy as np
import pytest

from thpi.transfer import FoldScores
from thpi.transfer._candidates import Candidate, default_candidate
from thpi.transfer._decision import decide

FOLD_OF = np.repeat([0, 1, 2], 40)
START = Candidate(default_candidate("source"), "NeighbourHash", uses_source=False)
MILD, BOLD = Candidate("Transfer mild", "TransferITQ"), Candidate("Transfer bold", "TransferITQ")
PAPER = Candidate("paper", "ITQPlus", costly=True)


def _scores(mean, seed=0):
    """Scores of 120 queries, 1 above or below their mean; the mean of each fold is exact."""
    rng = np.random.RandomState(seed)
    swing = np.concatenate([rng.permutation(np.repeat([1.0, -1.0], 20)) for _ in range(3)])
    return FoldScores((40 + mean + swing)[None], FOLD_OF)


def _choice(scores, listed=(START, MILD, BOLD), relevance="source", gate=1.0):
    return decide(list(listed), scores, relevance, gate)[0].name


def test_a_gain_has_to_pass_the_gate_and_half_a_percent():
    error = np.sqrt(2 / 120)
    for gain, taken in ((0.0, False), (0.2 + 0.5 * error, False), (0.2 + 3 * error, True)):
        found = _choice([_scores(0), _scores(gain, seed=1), _scores(-5, seed=2)])
        assert (found == "Transfer mild") == taken
    assert _choice([_scores(0), _scores(3, seed=1), _scores(-5, seed=2)], gate=100.0) == START.name


def test_of_equals_the_first_is_taken():
    assert (
        _choice([_scores(0), _scores(5, seed=1), _scores(5.02, seed=1)]) == "Transfer bold"
    )  # surely better, by little
    assert _choice([_scores(0), _scores(5, seed=1), _scores(5.02, seed=2)]) == "Transfer mild"
    assert _choice([_scores(0), _scores(5, seed=1), _scores(9, seed=2)]) == "Transfer bold"


def test_methods_that_do_not_begin_at_itq_must_lead_by_more():
    error = np.sqrt(2 / 120)
    for gain, taken in ((0.2 + 2 * error, False), (0.2 + 8 * error, True)):
        assert (_choice([_scores(0), _scores(gain, seed=1)], (START, PAPER)) == "paper") == taken


def test_scores_of_one_fold_are_no_rivals_and_stand_last():
    part = FoldScores(_scores(30).precisions[:, :40], FOLD_OF[:40])
    chosen, evidence = decide([START, MILD, PAPER], [_scores(0), _scores(3, seed=1), part], "source", 1.0)
    assert chosen is MILD
    entries = json.loads(evidence["candidates_json_"])
    assert [entry["name"] for entry in entries] == [START.name, "Transfer mild", "paper"]
    assert entries[-1]["gain"] == pytest.approx(30)
    assert evidence["gain_"] == pytest.approx(entries[1]["gain"])


def test_what_was_not_tried_is_left_out_and_without_scores_the_first_is_taken():
    chosen, evidence = decide([START, MILD, PAPER], [_scores(0), _scores(3, seed=1), None], "source", 1.0)
    assert chosen is MILD
    assert len(json.loads(evidence["candidates_json_"])) == 2
    chosen, evidence = decide([START, MILD], None, "source", 1.0)
    assert chosen is START
    assert evidence["gain_"] == 0
    assert [entry["score"] for entry in json.loads(evidence["candidates_json_"])] == [None, None]


def test_a_source_that_may_not_be_used_is_evidence_all_the_same():
    scores = [_scores(0), _scores(5, seed=1), _scores(-5, seed=2)]
    chosen, evidence = decide([START, MILD, BOLD], scores, "source", 1.0, may_use_source=False)
    assert chosen is START
    free = decide([START, MILD, BOLD], scores, "source", 1.0)[1]
    assert evidence["candidates_json_"] == free["candidates_json_"]
    assert evidence["gain_"] == pytest.approx(5)


def test_where_the_source_says_what_is_relevant_and_may_not_be_used_nothing_counts():
    rival = Candidate("ITQ kernel", "ITQ", uses_source=False, kernel=True)
    scores = [_scores(0), _scores(9, seed=1), _scores(20, seed=2)]
    for relevance in ("source", "groups", "labels"):
        start = Candidate(default_candidate(relevance), "ITQ", uses_source=False)
        chosen = decide([start, rival, MILD], scores, relevance, 1.0, may_use_source=False)[0]
        assert chosen is (rival if relevance == "labels" else start)
