from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from thpi import RELEVANCES
from thpi.auto import Relevance
from thpi.evaluation import Judged, find_truth
from thpi.evaluation.models._assess import default_neighbours


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    X, S = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    whole = Judged(X, rng.randint(3, size=30), S)
    return whole.take(np.arange(8)), whole.take(np.arange(8, 30))


def _dense(truth, queries):
    found = truth.relevant
    return found(0, queries.X.shape[0]) if callable(found) else found.toarray()


@pytest.mark.parametrize(("relevance", "space"), [("target", "X"), ("source", "source")])
def test_near_rows_are_the_nearest_of_their_space(rows, relevance, space):
    queries, database = rows
    distances = cdist(getattr(queries, space), getattr(database, space))
    nearest = np.argsort(distances, axis=1) < 0
    np.put_along_axis(nearest, np.argsort(distances, axis=1)[:, :4], True, axis=1)
    truth = find_truth(relevance, queries, database, neighbours=4)
    np.testing.assert_array_equal(_dense(truth, queries), nearest)
    assert truth.words == f"near in {relevance} space: the 4 nearest rows"
    within = find_truth(relevance, queries, database, radius=1.5)
    np.testing.assert_array_equal(_dense(within, queries), distances < 1.5)


def test_sparse_rows_are_rows(rows):
    queries, database = rows
    dense = find_truth("source", queries, database, neighbours=4)
    thin = [each._replace(source=sparse.csr_matrix(each.source)) for each in rows]
    again = find_truth("source", *thin, neighbours=4)
    np.testing.assert_array_equal(_dense(again, queries), _dense(dense, queries))
    groups = [_dense(find_truth("groups", *pair), queries) for pair in (rows, thin)]
    np.testing.assert_array_equal(*groups)


def test_labels_and_tags(rows):
    queries, database = rows
    same = queries.labels[:, None] == database.labels
    np.testing.assert_array_equal(_dense(find_truth("labels", queries, database), queries), same)
    tags = [each._replace(labels=np.eye(3)[each.labels]) for each in rows]
    np.testing.assert_array_equal(find_truth("labels", *tags).relevant, same)


def test_groups_are_those_of_the_source(rows):
    """Three far clouds: the nearest by diffusion are of the cloud of the query."""
    rng = np.random.RandomState(1)
    cloud = rng.randint(3, size=120)
    S = 10 * np.eye(3)[cloud] + rng.standard_normal((120, 3))
    whole = Judged(rng.standard_normal((120, 2)), None, S)
    queries, database = whole.take(np.arange(20)), whole.take(np.arange(20, 120))
    truth = find_truth("groups", queries, database)
    assert truth.words == "same group of the source: the 10 nearest rows"
    i, j = truth.relevant.nonzero()
    assert len(i) >= 20 * 10
    np.testing.assert_array_equal(cloud[:20][i], cloud[20:][j])


def test_a_meaning_of_ones_own(rows):
    queries, database = rows
    plain = RELEVANCES["target"].default
    first = Relevance("first", "near in the first column", (plain,), plain, space=lambda spaces: spaces.target[:, :1])
    nearest = np.abs(queries.X[:, :1] - database.X[:, 0]).argmin(axis=1)
    found = _dense(find_truth(first, queries, database, neighbours=1), queries)
    np.testing.assert_array_equal(found.argmax(axis=1), nearest)


def test_defaults_and_errors(rows):
    queries, database = rows
    target, groups = RELEVANCES["target"], RELEVANCES["groups"]
    assert [default_neighbours(target, n) for n in (3, 100, 600, 10**6)] == [3, 5, 20, 50]
    assert default_neighbours(groups, 10_000) == 1000
    for relevance, part in (("labels", "labels"), ("source", "source"), ("groups", "source")):
        with pytest.raises(ValueError, match=f"'{relevance}' needs the {part} of queries and database"):
            find_truth(relevance, queries, database._replace(**{part: None}))
    with pytest.raises(ValueError, match="must be one of target"):
        find_truth("colour", queries, database)
