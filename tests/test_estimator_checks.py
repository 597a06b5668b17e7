"""scikit-learn's own checks on every method, and the parts of its ecosystem that users put hashers into."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import thpi
from thpi.base import BaseHasher


def _with_privileged(method: type[BaseHasher]) -> type[BaseHasher]:
    """Adapter: a method that finds its privileged data in X itself, for checks that know only fit(X)."""

    class Adapted(method):  # type: ignore[valid-type, misc]
        def fit(self, X, y=None, *, privileged=None, source=None):
            return super().fit(X, y, privileged=X if privileged is None else privileged, source=source)

    Adapted.__name__ = Adapted.__qualname__ = f"{method.__name__}WithPrivileged"
    globals()[Adapted.__name__] = Adapted  # pickle looks it up here
    return Adapted


def _made(method: type[BaseHasher]) -> BaseHasher:
    """The method with one bit; one repeat of its folds does for AutoHasher."""
    quick = {"n_repeats": 1} if method is thpi.AutoHasher else {}
    return (_with_privileged(method) if method.needs_privileged else method)(n_bits=1, random_state=0, **quick)


@pytest.mark.slow
@parametrize_with_checks([_made(method) for method in thpi.HASHERS.values()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def views():
    rng = np.random.RandomState(0)
    latent = rng.standard_normal((90, 4))
    target = latent[:60] @ rng.standard_normal((4, 10)) + 0.1 * rng.standard_normal((60, 10))
    source = latent @ rng.standard_normal((4, 12)) + 0.1 * rng.standard_normal((90, 12))
    return target, source[:60], source[60:]


@pytest.mark.slow
@pytest.mark.parametrize("method", thpi.HASHERS.values())
def test_clone_pipeline_and_set_output(method, views):
    X, S, S_U = views
    hasher = clone(method(n_bits=9, random_state=3))
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler(), hasher.set_fit_request(privileged=True, source=True).set_output(transform="pandas")
        )
        frame = pipeline.fit(X, privileged=S, source=S_U).transform(X)
    assert list(frame.columns) == [f"{method.__name__.lower()}{i}" for i in range(2)]
    assert (frame.dtypes == np.uint8).all()
    scaled = StandardScaler().fit_transform(X)
    plain = method(n_bits=9, random_state=3).fit(scaled, privileged=S, source=S_U).transform(scaled)
    np.testing.assert_array_equal(frame.to_numpy(), plain)


class _Seen(thpi.LapITQPlus):
    """Notes what fit was given, to see what cross-validation passes on."""

    seen: list[tuple[np.ndarray, np.ndarray, object]] = []

    def fit(self, X, y=None, *, privileged=None, source=None):
        self.seen.append((X, privileged, source))
        return super().fit(X, y, privileged=privileged, source=source)


@pytest.mark.parametrize("as_many_source_rows_as_target_rows", [False, True])
def test_grid_search_splits_privileged_and_passes_source_whole(views, as_many_source_rows_as_target_rows):
    X, S, S_U = views
    source = thpi.Whole(np.vstack([S_U, S_U])) if as_many_source_rows_as_target_rows else S_U
    _Seen.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            _Seen(n_bits=4, random_state=0).set_fit_request(privileged=True, source=True),
            {"lambda1": [0, 0.1], "lambda2": [0, 0.5]},
            scoring=lambda hasher, X, y=None: -np.abs(hasher.decision_function(X)).mean(),
            cv=KFold(3),
            error_score="raise",
        ).fit(X, privileged=S, source=source)
    assert len(_Seen.seen) == 13
    rows = {x.tobytes(): i for i, x in enumerate(X)}
    for seen_X, seen_S, seen_source in _Seen.seen:
        np.testing.assert_array_equal(seen_S, S[[rows[x.tobytes()] for x in seen_X]])
        assert seen_source is source
    assert len(_Seen.seen[0][0]) == 40
    assert search.transform(X).shape == (60, 1)


def test_cross_validate(views):
    X, S, S_U = views
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            thpi.ITQPlus(n_bits=4, random_state=0).set_fit_request(privileged=True, source=True),
            X,
            params={"privileged": S, "source": S_U},
            scoring=lambda hasher, X, y=None: float(hasher.transform(X).mean()),
            error_score="raise",
        )
    assert np.isfinite(result["test_score"]).all()
