from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from experiments.harness.protocol import PROTOCOLS, relevance_kinds, relevance_matrix
from thpi.datasets import load_digits_views
from thpi.evaluation import split_rows

RNG = np.random.RandomState(0)
X, S = RNG.standard_normal((200, 4)), RNG.standard_normal((200, 3))
SPLIT = split_rows(200, 0.5, 0)


def test_standard_relevance_is_the_mean_50th_neighbour_distance_of_the_database() -> None:
    rows = np.setdiff1d(np.arange(200), SPLIT.query)
    for kind, space in (("target", X), ("source", S)):
        within = np.sort(cdist(space[rows], space[rows]), axis=1)
        radius = within[:, 50].mean()  # column 0 is the row itself
        expected = cdist(space[SPLIT.query], space[rows]) < radius
        found = relevance_matrix(kind, PROTOCOLS["standard"], SPLIT, target=X, source=S)
        np.testing.assert_array_equal(found, expected)


def test_followup_relevance_counts_the_row_itself_and_uses_training_rows() -> None:
    # 100 training rows are all sampled, so nothing is random.
    within = np.sort(cdist(X[SPLIT.train], X[SPLIT.train]), axis=1)
    expected = cdist(X[SPLIT.query], X[SPLIT.train]) < within[:, 49].mean()
    np.testing.assert_array_equal(relevance_matrix("target", PROTOCOLS["followup"], SPLIT, target=X), expected)


def test_paper_relevance_is_the_mean_50th_neighbour_distance_among_rows_neither_trained_on_nor_asked() -> None:
    rows = np.setdiff1d(np.arange(200), np.union1d(SPLIT.train, SPLIT.query))
    for kind, space in (("target", X), ("source", S)):
        within = np.sort(cdist(space[rows], space[rows]), axis=1)
        expected = cdist(space[SPLIT.query], space[rows]) < within[:, 50].mean()
        found = relevance_matrix(kind, PROTOCOLS["paper"], SPLIT, target=X, source=S)
        np.testing.assert_array_equal(found, expected)


def test_the_radius_is_a_mean_over_a_sample_of_the_database() -> None:
    few = replace(PROTOCOLS["paper"], radius_rows=20)
    rows = SPLIT.rest
    drawn = np.random.RandomState(3).choice(len(rows), 20, replace=False)
    within = np.sort(cdist(X[rows], X[rows]), axis=1)[drawn, 50]
    expected = cdist(X[SPLIT.query], X[rows]) < within.mean()
    np.testing.assert_array_equal(relevance_matrix("target", few, SPLIT, target=X, random_state=3), expected)


def test_labels_are_asked_for_before_tags() -> None:
    labels, tags = np.arange(200) % 3, np.eye(200)
    found = relevance_matrix("labels", PROTOCOLS["followup"], SPLIT, labels=labels, tags=tags)
    np.testing.assert_array_equal(found, labels[SPLIT.query][:, None] == labels[SPLIT.train])
    assert not relevance_matrix("labels", PROTOCOLS["followup"], SPLIT, tags=tags).any()


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="kind='near'"):
        relevance_matrix("near", PROTOCOLS["followup"], SPLIT, target=X)
    with pytest.raises(ValueError, match="needs labels or tags"):
        relevance_matrix("labels", PROTOCOLS["followup"], SPLIT)
    few = split_rows(80, 0.5, 0)
    with pytest.raises(ValueError, match="train has 40 rows"):
        relevance_matrix("target", PROTOCOLS["followup"], few, target=X[:80])


def test_kinds_follow_what_a_set_has() -> None:
    assert relevance_kinds(load_digits_views()) == ("target", "labels", "source")
