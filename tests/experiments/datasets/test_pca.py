from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from experiments.datasets.preprocessing import EnergyPCA


@parametrize_with_checks([EnergyPCA(), EnergyPCA(exact_up_to=1)])
def test_scikit_learn_conventions(estimator: EnergyPCA, check: Callable[[EnergyPCA], None]) -> None:
    check(estimator)


def energy_of(X: np.ndarray, components: np.ndarray) -> float:
    centred = X - X.mean(axis=0)
    return float(((centred @ components.T) ** 2).sum() / (centred**2).sum())


def rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.RandomState(seed)
    return rng.randn(n, d) * np.geomspace(1, 0.1, d) + rng.randn(d)


@pytest.mark.parametrize("shape", [(60, 20), (20, 60), (30, 30)])
@pytest.mark.parametrize("energy", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_equals_scikit_learn(shape: tuple[int, int], energy: float, container: type) -> None:
    X = rows(*shape)
    ours = EnergyPCA(energy).fit(container(X))
    theirs = PCA(energy, svd_solver="full").fit(X)
    assert ours.n_components_ == theirs.n_components_
    np.testing.assert_allclose(np.abs(ours.transform(container(X))), np.abs(theirs.transform(X)), rtol=1e-6, atol=1e-8)
    assert ours.explained_energy_ == pytest.approx(theirs.explained_variance_ratio_.sum())


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 30), d=st.integers(1, 30), energy=st.floats(0.01, 1), seed=st.integers(0, 2**32 - 1))
def test_energy_is_reached_with_the_fewest_components(n: int, d: int, energy: float, seed: int) -> None:
    X = rows(n, d, seed)
    pca = EnergyPCA(energy).fit(X)
    V = pca.components_
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-6)
    assert energy_of(X, V) >= energy - 1e-9
    if len(V) > 1:
        assert energy_of(X, V[:-1]) < energy


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_randomised_agrees_with_exact(container: type) -> None:
    rng = np.random.RandomState(0)
    low_rank = rng.randn(300, 12) * np.geomspace(1, 0.2, 12) @ rng.randn(12, 200) + 3.0
    X = container(low_rank + 0.01 * rng.randn(300, 200))
    exact = EnergyPCA(0.8).fit(X)
    randomised = EnergyPCA(0.8, exact_up_to=100, max_components=50).fit(X)
    assert randomised.n_components_ == exact.n_components_
    np.testing.assert_allclose(np.abs(randomised.components_ @ exact.components_.T).diagonal(), 1, atol=1e-6)
    assert randomised.explained_energy_ == pytest.approx(exact.explained_energy_, abs=1e-6)


def test_same_seed_same_bytes() -> None:
    X = rows(120, 90)
    a, b = (EnergyPCA(0.5, exact_up_to=10, max_components=60, random_state=3).fit(X) for _ in range(2))
    assert a.components_.tobytes() == b.components_.tobytes()


def test_cap_on_components_is_said() -> None:
    X = rows(120, 90)
    with pytest.warns(UserWarning, match="max_components=2 components hold 0"):
        pca = EnergyPCA(0.9, exact_up_to=10, max_components=2).fit(X)
    assert pca.n_components_ == 2
    assert pca.explained_energy_ == pytest.approx(energy_of(X, pca.components_))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EnergyPCA(0.9, exact_up_to=10, max_components=89).fit(X)


@pytest.mark.parametrize("energy", [0, -0.1, 1.5])
def test_energy_out_of_range(energy: float) -> None:
    with pytest.raises(ValueError, match=r"energy=.* must be greater than 0 and at most 1"):
        EnergyPCA(energy).fit(rows(5, 3))


def test_equal_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="all rows are equal"):
        EnergyPCA().fit(np.zeros((5, 3)))
