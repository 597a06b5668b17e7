from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from thpi import ITQ, NeighbourHash, TransferITQ
from thpi.base import Views
from thpi.evaluation import mean_average_precision
from thpi.hashers._geometry import Geometry
from thpi.hashers._neighbour_hash import _neighbours
from thpi.hashers._source_features import SourceFeatures
from thpi.solvers.neighbour_embedding import neighbour_probabilities


@pytest.fixture(scope="module")
def views():
    """Rows about thirty centres; their source; rows that are not learned from."""
    rng = np.random.RandomState(0)
    S = 3 * rng.standard_normal((30, 6))[rng.randint(30, size=900)] + rng.standard_normal((900, 6))
    X = S @ rng.standard_normal((6, 20)) + 0.3 * rng.standard_normal((900, 20))
    return X[:200], S[:200], S[200:], X[200:]


def _map(hasher, unseen, space, n_bits=16):
    """MAP among rows that were not learned from; relevant are the 3 % nearest in a space."""
    distances = pairwise_distances(space)
    codes = hasher.transform(unseen)
    relevant = distances[:100, 100:] < np.quantile(distances, 0.03)
    return mean_average_precision(codes[:100], codes[100:], relevant, n_bits).value


def test_neighbours_of_unseen_rows_are_kept_better_than_by_itq(views):
    X, _, _, unseen = views
    plain = np.mean([_map(ITQ(16, random_state=seed).fit(X), unseen, unseen) for seed in range(3)])
    kept = np.mean([_map(NeighbourHash(16, random_state=seed).fit(X), unseen, unseen) for seed in range(3)])
    assert kept > plain + 0.03


def test_neighbours_in_source_space(views):
    X, S, S_U, unseen = views
    loud = 5 * np.random.RandomState(1).standard_normal((900, 20))  # louder than all the rest, and nothing to do with S
    X, unseen = np.hstack([X, loud[:200]]), np.hstack([unseen, loud[200:]])
    fit = {"privileged": S, "source": S_U}
    settings = {"source_weight": 8.0, "source_features": "rbf", "random_state": 0}
    transfer = _map(TransferITQ(16, **settings).fit(X, **fit), unseen, S_U)
    kept = _map(NeighbourHash(16, space="source", **settings).fit(X, **fit), unseen, S_U)
    assert kept > transfer + 0.02
    assert transfer > _map(ITQ(16, random_state=0).fit(X), unseen, S_U) + 0.05


def test_objective_never_rises_and_the_same_seed_gives_the_same_bytes(views):
    X, S, S_U, _ = views
    for space in ("target", "source"):
        one, two = (NeighbourHash(8, space=space, random_state=0).fit(X, privileged=S, source=S_U) for _ in range(2))
        assert np.all(np.diff(one.objective_) <= 0)
        assert one.projection_.tobytes() == two.projection_.tobytes()
    # Labels are taken, as everywhere, and not used.
    unlabelled, labelled = (NeighbourHash(8, random_state=0).fit(X, y) for y in (None, np.arange(200)))
    np.testing.assert_array_equal(labelled.codes_, unlabelled.codes_)


def test_rows_and_their_neighbours_by_space(views):
    X, S, S_U, _ = views
    source = SourceFeatures(Views(X[:30], S[:30], S_U), np.random.RandomState(0), 3000)
    geometry = Geometry(X[:30], 8, 0, source, more=X[30:50])
    rows, A = _neighbours(geometry, "target", 0.3, 1000)
    np.testing.assert_array_equal(rows, geometry.real)
    np.testing.assert_array_equal(A, neighbour_probabilities(rows, 0.3))
    rows, A = _neighbours(geometry, "source", 0.3, 1000)
    assert len(rows) == 30 + 3 * 30  # three imputed rows for each pair
    np.testing.assert_array_equal(rows[:30], geometry.X)
    drawn = [int(np.flatnonzero((row == geometry.imputed).all(axis=1))[0]) for row in rows[30:]]
    assert len(set(drawn)) == 90
    points = np.vstack([source.linear[:30], source.linear[30:][drawn]])
    np.testing.assert_array_equal(A, neighbour_probabilities(points, 0.3))
    for most, n_imputed in ((20, 0), (50, 20)):
        rows, A = _neighbours(geometry, "source", 0.3, most)
        assert len(rows) == most == len(A)
        assert sum((row == geometry.X).all(axis=1).any() for row in rows) == most - n_imputed


def test_more_rows_than_take_part(views):
    X, S, S_U, _ = views
    hasher = NeighbourHash(8, space="source", max_rows=50, random_state=0).fit(X, privileged=S, source=S_U)
    assert hasher.codes_.shape == (200, 1)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_few_rows_and_as_many_bits_as_they_allow(views, n):
    X, S, S_U, unseen = views
    hasher = NeighbourHash(n - 1, random_state=0).fit(X[:n], privileged=S[:n], source=S_U)
    assert hasher.transform(unseen).shape == (700, 1)


def test_what_is_missing_is_named(views):
    X, _, S_U, _ = views
    with pytest.raises(ValueError, match="space='source' needs privileged"):
        NeighbourHash(8, space="source").fit(X)
    with pytest.raises(ValueError, match="'perplexity' parameter of NeighbourHash"):
        NeighbourHash(8, perplexity=1.5).fit(X)
    with pytest.raises(ValueError, match="source needs privileged"):
        NeighbourHash(8).fit(X, source=S_U)
