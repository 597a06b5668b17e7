from __future__ import annotations

import numpy as np
import pytest

from thpi import ITQ, GroupITQ, TransferITQ
from thpi.evaluation import label_relevance, mean_average_precision
from thpi.hashers._geometry import Geometry
from thpi.hashers._group_itq import taught_by_groups
from thpi.solvers.diffusion_map import group_coordinates
from thpi.solvers.loo_ridge import loo_ridge


@pytest.fixture(scope="module")
def rows():
    """Five tight groups in a few columns, and as much noise in many others; the source knows groups of its own."""
    rng = np.random.RandomState(0)
    group, other = rng.randint(5, size=700), rng.randint(3, size=700)
    tight = 3 * rng.standard_normal((5, 6))[group] + 0.5 * rng.standard_normal((700, 6))
    X = np.hstack([tight, np.eye(3)[other] + 0.2 * rng.standard_normal((700, 3)), 1.5 * rng.standard_normal((700, 20))])
    S = 4 * np.eye(3)[other] @ rng.standard_normal((3, 5)) + rng.standard_normal((700, 5))
    return X, group, other, S


def _map(hasher, X, y):
    codes = hasher.transform(X)
    return mean_average_precision(codes[600:], codes[:600], label_relevance(y[600:], y[:600]), 16).value


def test_groups_of_the_target_need_no_source(rows):
    X, group, _, _ = rows
    plain, taught = (method.fit(X[:150]) for method in (ITQ(16, random_state=0), GroupITQ(16, random_state=0)))
    assert _map(taught, X, group) > _map(plain, X, group) + 0.1
    assert 0 < taught.group_r2_ < 1
    assert np.all(np.diff(taught.objective_) <= 1e-9)


def test_with_a_source_its_groups_count_by_their_share(rows):
    X, _, other, S = rows
    pairs = {"privileged": S[:150], "source": S[150:600]}
    found = [
        _map(GroupITQ(16, target_share=s, random_state=0).fit(X[:150], **pairs), X, other) for s in (0.0, 0.5, 1.0)
    ]
    assert found[0] > found[1] > found[2]


def test_the_ends_of_the_share_are_known(rows):
    X, _, _, S = rows
    pairs = {"privileged": S[:150], "source": S[150:600]}
    source_alone = GroupITQ(16, group_weight=4.0, target_share=0.0, random_state=0).fit(X[:150], **pairs)
    transfer = TransferITQ(16, source_weight=4.0, source_features="diffusion", random_state=0).fit(X[:150], **pairs)
    np.testing.assert_allclose(source_alone.projection_, transfer.projection_, atol=1e-9)
    target_alone = GroupITQ(16, target_share=1.0, imputed_weight=0.0, random_state=0).fit(X[:150], **pairs)
    np.testing.assert_array_equal(target_alone.codes_, GroupITQ(16, random_state=0).fit(X[:150]).codes_)


def test_the_metric_is_ridge_to_the_groups(rows):
    X = rows[0][:120] - rows[0][:120].mean(axis=0)
    geometry = Geometry(X, 8, seed=3)
    T = group_coordinates(X, seed=3)
    expected = loo_ridge(X, T - T.mean(axis=0))
    found = taught_by_groups(geometry, target_share=0.3)  # there is no source to share with
    np.testing.assert_allclose(found.W, expected.W, atol=1e-9)
    assert found.explained == pytest.approx(expected.explained)


def test_without_weight_it_is_itq(rows):
    X = rows[0][:150]
    plain = ITQ(16, tol=0, random_state=1).fit(X)
    np.testing.assert_array_equal(GroupITQ(16, group_weight=0, tol=0, random_state=1).fit(X).codes_, plain.codes_)


def test_a_share_that_is_none_is_named(rows):
    with pytest.raises(ValueError, match="'target_share' parameter of GroupITQ"):
        GroupITQ(8, target_share=1.5).fit(rows[0])
