from __future__ import annotations

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


def test_authors_relevance_counts_the_row_itself_and_uses_training_rows() -> None:
    # 100 training rows are all sampled, so nothing is random.
    within = np.sort(cdist(X[SPLIT.train], X[SPLIT.train]), axis=1)
    expected = cdist(X[SPLIT.query], X[SPLIT.train]) < within[:, 49].mean()
    np.testing.assert_array_equal(relevance_matrix("target", PROTOCOLS["authors"], SPLIT, target=X), expected)


def test_labels_are_asked_for_before_tags() -> None:
    labels, tags = np.arange(200) % 3, np.eye(200)
    found = relevance_matrix("labels", PROTOCOLS["authors"], SPLIT, labels=labels, tags=tags)
    np.testing.assert_array_equal(found, labels[SPLIT.query][:, None] == labels[SPLIT.train])
    assert not relevance_matrix("labels", PROTOCOLS["authors"], SPLIT, tags=tags).any()


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="kind='near'"):
        relevance_matrix("near", PROTOCOLS["authors"], SPLIT, target=X)
    with pytest.raises(ValueError, match="needs labels or tags"):
        relevance_matrix("labels", PROTOCOLS["authors"], SPLIT)
    few = split_rows(80, 0.5, 0)
    with pytest.raises(ValueError, match="train has 40 rows"):
        relevance_matrix("target", PROTOCOLS["authors"], few, target=X[:80])


def test_kinds_follow_what_a_set_has() -> None:
    assert relevance_kinds(load_digits_views()) == ("target", "labels", "source")
