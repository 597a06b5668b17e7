from __future__ import annotations

import numpy as np
import pytest

from thpi.base import Views
from thpi.hashers import _source_features as module
from thpi.hashers._source_features import TEACHERS, SourceFeatures


@pytest.fixture(scope="module")
def groups():
    """Rows of four groups, some tight and some wide (40 paired, 260 unpaired), and the group of each."""
    rng = np.random.RandomState(0)
    group = rng.randint(4, size=300)
    width = np.array([0.4, 0.8, 1.3, 2.1])[group]
    return 2 * rng.standard_normal((4, 12))[group] + width[:, None] * rng.standard_normal((300, 12)), group


def _features(S, n=40, max_unpaired=3000):
    return SourceFeatures(Views(S[:n], S[:n], S[n:]), np.random.RandomState(0), max_unpaired)


def _apart(T, group):
    """How much better rows of one group agree than others, and that over the spread of all agreements."""
    agreement, same = T @ T.T, group[:, None] == group
    off = ~np.eye(len(T), dtype=bool)
    lead = agreement[same & off].mean() - agreement[~same].mean()
    return lead, lead / agreement.std()


def test_diffusion_tells_groups_of_any_width_apart(groups):
    S, group = groups
    features = _features(S)
    apart = {teacher: _apart(features.seen_by(teacher, 8), group)[1] for teacher in ("rbf", "linear", "diffusion")}
    assert apart["diffusion"] > max(apart["rbf"], apart["linear"])
    assert _apart(features.diffusion, group)[0] > 0.7


def test_every_teacher_gives_a_row_each(groups):
    S, _ = groups
    features = _features(S, max_unpaired=100)
    for teacher in TEACHERS:
        T = features.seen_by(teacher, 2)
        assert T.shape[0] == 140
        assert np.all(np.isfinite(T))
    np.testing.assert_allclose(np.linalg.norm(features.diffusion, axis=1), 1)
    energy = (features.mixed**2).sum(axis=0) / 140
    p = features.rbf.shape[1]
    assert energy[:p].sum() == pytest.approx(1 - module.DIFFUSION_SHARE)
    assert energy[p:].sum() == pytest.approx(module.DIFFUSION_SHARE)


def test_some_of_the_pairs_keep_what_was_learned_of_all(groups):
    features = _features(groups[0])
    whole = features.diffusion
    part = features.taken(np.array([3, 5]))
    assert part.n == 2
    for name in ("linear", "rbf", "diffusion", "mixed"):
        found = getattr(part, name)
        assert len(found) == 2 + 260
        if name != "mixed":
            np.testing.assert_array_equal(found[:2], getattr(features, name)[[3, 5]])
    np.testing.assert_array_equal(part.diffusion[2:], whole[40:])


def test_beyond_the_limit_the_graph_is_that_of_a_sample(groups, monkeypatch):
    S, group = groups
    monkeypatch.setattr(module, "GRAPH_ROWS", 200)
    T = _features(S).diffusion
    assert T.shape[0] == 300
    assert _apart(T, group)[0] > 0.9
    assert T.tobytes() == _features(S).diffusion.tobytes()
