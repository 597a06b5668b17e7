from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.decomposition import KernelPCA

from thpi.base import Views
from thpi.hashers import _source_features as module
from thpi.hashers._source_features import SOURCE_FEATURES, SourceFeatures


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
    apart = {name: _apart(features.named(name, 8), group)[1] for name in ("rbf", "linear", "diffusion")}
    assert apart["diffusion"] > max(apart["rbf"], apart["linear"])
    assert _apart(features.diffusion, group)[0] > 0.7


def test_every_name_gives_a_row_each(groups):
    S, _ = groups
    features = _features(S, max_unpaired=100)
    for name in SOURCE_FEATURES:
        T = features.named(name, 2)
        assert T.shape[0] == 140
        assert np.all(np.isfinite(T))
    np.testing.assert_allclose(np.linalg.norm(features.diffusion, axis=1), 1)
    energy = (features.mixed**2).sum(axis=0) / 140
    p = features.rbf.shape[1]
    assert energy[:p].sum() == pytest.approx(1 - module.DIFFUSION_SHARE)
    assert energy[p:].sum() == pytest.approx(module.DIFFUSION_SHARE)


def test_rbf_is_kernel_principal_components(groups):
    S = groups[0][:120]
    features = _features(S)
    gamma = module.KERNEL_WIDTH / np.median(pdist(S) ** 2)
    expected = KernelPCA(module.KERNEL_COMPONENTS, kernel="rbf", gamma=gamma).fit_transform(S)
    np.testing.assert_allclose(np.abs(features.rbf[:, :20]), np.abs(expected[:, :20]), atol=1e-6)
    # Rows of the pairs alone keep them.
    np.testing.assert_allclose(features.taken(np.arange(5)).rbf[:5], features.rbf[:5])


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
