"""Target rows without a source (``target=``), in every method that takes them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import thpi
import thpi.rows
from thpi import ITQ, AutoHasher, ClassITQ, GroupITQ, ITQPlus, NeighbourHash, TransferITQ, Whole
from thpi.auto import Candidate
from thpi.base import Views
from thpi.evaluation import nearest_relevance
from thpi.hashers._class_itq import taught_by_labels
from thpi.hashers._geometry import Geometry
from thpi.hashers._group_itq import taught_by_groups
from thpi.hashers._itq import ViewGeometry
from thpi.hashers._source_features import few_coordinates
from thpi.hashers._transfer_itq import taught_by_source

METHODS = (TransferITQ, ClassITQ, GroupITQ, NeighbourHash, AutoHasher)


@pytest.fixture(scope="module")
def rows():
    """Target rows that are linear in the source, and some of another mean whose source nobody knows."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((260, 5))
    X = S @ rng.standard_normal((5, 12)) + 0.1 * rng.standard_normal((260, 12))
    return X[:60], X[60:160] + 0.7, S[:60], S[160:]


@pytest.mark.parametrize("method", [NeighbourHash, GroupITQ, ClassITQ])
def test_without_a_source_they_are_target_rows_like_any_other(rows, method):
    X, more, _, _ = rows
    split = method(8, random_state=0).fit(X, target=more)
    whole = method(8, random_state=0).fit(np.vstack([X, more]))
    np.testing.assert_allclose(split.projection_, whole.projection_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(split.mean_, whole.mean_)
    np.testing.assert_array_equal(split.codes_, whole.codes_[: len(X)])


def test_at_target_geometry_it_is_itq_of_all_target_rows(rows):
    X, more, S, S_U = rows
    plain = ITQ(8, tol=0, random_state=1).fit(np.vstack([X, more]))
    hasher = TransferITQ(8, source_weight=0, imputed_weight=0, tol=0, random_state=1)
    found = hasher.fit(X, privileged=S, source=S_U, target=more)
    np.testing.assert_array_equal(found.codes_, plain.codes_[: len(X)])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_no_rows_are_as_none(rows, method):
    X, more, S, S_U = rows
    pairs = {"privileged": S, "source": S_U}
    none, empty = (method(8, random_state=0).fit(X, target=target, **pairs) for target in (None, more[:0]))
    np.testing.assert_array_equal(none.projection_, empty.projection_)
    np.testing.assert_array_equal(none.mean_, empty.mean_)


def test_rows_of_another_mean_do_not_change_what_the_pairs_teach(rows):
    X, more, S, S_U = rows
    Y = np.arange(len(X)) % 3
    views = [Views(X, S, S_U, target, Y) for target in (None, more)]
    alone, joined = (ViewGeometry(each, 8, np.random.RandomState(0), 3000).geometry for each in views)
    assert joined.imputation.of_target.explained == pytest.approx(alone.imputation.of_target.explained)
    np.testing.assert_allclose(joined.imputed + views[1].mean, alone.imputed + views[0].mean, atol=1e-9)
    for teach in (lambda g: taught_by_source(g, "rbf", 1.0), lambda g: taught_by_labels(g, 0.1, True, 1.0)):
        W, expected = teach(joined).W, teach(alone).W
        np.testing.assert_allclose(joined.X @ W - (joined.X @ W).mean(0), alone.X @ expected, atol=1e-6)


def test_the_scatter_is_that_of_all_real_rows(rows):
    X, more, _, _ = rows
    geometry = Geometry(X, 8, seed=0, more=more)
    all_rows = np.vstack([X, more])
    values, Q = geometry._spectrum(0.0)
    np.testing.assert_allclose(Q * values @ Q.T, np.cov(all_rows.T, ddof=0) * len(all_rows), atol=1e-9)
    np.testing.assert_allclose(geometry.mean, all_rows.mean(axis=0))
    np.testing.assert_array_equal(geometry.X, geometry.real[: len(X)])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_sparse_marked_and_single_precision_rows(rows, method):
    X, more, S, S_U = rows
    hasher = method(8, random_state=0).fit(X, privileged=S, source=S_U, target=Whole(more))
    same = method(8, random_state=0).fit(X, privileged=S, source=S_U, target=sparse.csr_matrix(more).toarray())
    np.testing.assert_array_equal(hasher.codes_, same.codes_)
    thin = [sparse.csr_matrix(rows) for rows in (X, more)]
    mixed = method(8, random_state=0).fit(thin[0], privileged=S, source=S_U, target=thin[1])
    assert mixed.codes_.shape == (len(X), 1)
    single = method(8, random_state=0).fit(X.astype(np.float32), privileged=S, source=S_U, target=more)
    assert single.projection_.dtype == np.float32


@pytest.mark.parametrize("method", METHODS)
def test_what_is_wrong_is_named_and_nothing_is_left_behind(rows, method):
    X, more, S, _ = rows
    hasher = method(8, random_state=0)
    before = dict(vars(hasher))
    with pytest.raises(ValueError, match="target has 11 columns and X has 12"):
        hasher.fit(X, privileged=S, target=more[:, 1:])
    with pytest.raises(ValueError, match=r"target.*NaN"):
        hasher.fit(X, privileged=S, target=np.full_like(more, np.nan))
    assert vars(hasher) == before


def test_of_very_many_some_are_used(rows, monkeypatch):
    X, more, S, _ = rows
    monkeypatch.setattr("thpi.views.MAX_TARGET", 25)
    some = TransferITQ(8, random_state=0).fit(X, privileged=S, target=more)
    expected = TransferITQ(8, random_state=0).fit(X, privileged=S, target=more[np.linspace(0, 99, 25).astype(int)])
    np.testing.assert_allclose(some.projection_, expected.projection_, atol=1e-9)


def test_names_of_columns_are_those_of_x(rows):
    pd = pytest.importorskip("pandas")
    X, more, S, _ = rows
    tables = [pd.DataFrame(part, columns=[f"c{i}" for i in range(12)]) for part in (X, more)]
    hasher = TransferITQ(8, random_state=0).fit(tables[0], privileged=S, target=tables[1])
    expected = TransferITQ(8, random_state=0).fit(X, privileged=S, target=more)
    np.testing.assert_array_equal(hasher.codes_, expected.codes_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hasher.fit(tables[0], privileged=S, target=more)
        hasher.fit(X, privileged=S, target=tables[1])
    hasher.fit(tables[0], privileged=S, target=tables[1].iloc[:, ::-1])
    np.testing.assert_array_equal(hasher.codes_, expected.codes_)
    with pytest.raises(ValueError, match="^target has no column 'c3', which X has"):
        hasher.fit(tables[0], privileged=S, target=tables[1].drop(columns="c3"))
    with pytest.raises(ValueError, match="^target has a column 'c12', which X has not"):
        hasher.fit(tables[0], privileged=S, target=tables[1].assign(c12=0))


def test_numbers_too_large_for_the_type_of_x_are_named(rows):
    X, more, S, _ = rows
    hasher = TransferITQ(8)
    single = X.astype(np.float32)
    for given in ({"target": more * 1e30}, {"source": S * 1e30}, {"privileged": S * 1e30}):
        name = next(iter(given))
        with pytest.raises(ValueError, match=f"{name} holds .*; numbers of float32 must not exceed"):
            hasher.fit(single, **({"privileged": S} | given))


def test_groups_of_the_source_are_taught_by_all_pairs(rows, monkeypatch):
    X, more, S, S_U = rows
    monkeypatch.setattr("thpi.hashers._group_itq.MAX_REGRESSION_ROWS", len(X))
    views = [Views(X, S, S_U, target) for target in (None, more)]
    alone, joined = (ViewGeometry(each, 8, np.random.RandomState(0), 3000).geometry for each in views)
    expected, found = (taught_by_groups(geometry, 0.0) for geometry in (alone, joined))
    np.testing.assert_allclose(found.W, expected.W, atol=1e-9)


def test_wide_rows_in_few_coordinates_keep_their_distances(monkeypatch):
    """More rows than twice the coordinates, more columns than rows; ten directions hold all of it."""
    monkeypatch.setattr("thpi.hashers._source_features.MAX_COORDINATES", 24)
    rng = np.random.RandomState(0)
    X = rng.standard_normal((90, 10)) @ rng.standard_normal((10, 200)) + 5.0
    found = few_coordinates(X, X.mean(axis=0), 8)
    assert found.values.shape == (90, 24)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(found.values @ found.values.T, centred @ centred.T, atol=1e-6)
    P = rng.standard_normal((24, 3))
    np.testing.assert_allclose(centred @ found.back(P), found.values @ P, atol=1e-6)


@pytest.mark.parametrize("uses_source", [True, False])
def test_a_method_that_does_not_learn_in_a_geometry_has_the_mean_of_what_it_learned_from(rows, uses_source):
    X, more, S, S_U = rows
    candidate = Candidate(ITQPlus, {"lambda1": 0.01 if uses_source else 0.0}, uses_source=uses_source)
    found = []
    for target in (None, more):
        hasher = AutoHasher(8, random_state=0)
        trial = hasher.trial(hasher.check_views(X, None, S, S_U, target), np.random.RandomState(0), scored=False)
        found.append(trial.learn(candidate))
    assert "offset_" not in found[0]
    both, P = np.vstack([X, more]), found[1]["projection_"]
    # The projections of what it learned from have the mean 0: without a source it knows all rows, with one the pairs.
    learned_from = X if uses_source else both
    np.testing.assert_allclose(
        (learned_from - both.mean(axis=0)).mean(axis=0) @ P, found[1].get("offset_", 0), atol=1e-9
    )
    assert len(found[1]["objective_"]) > 1


def test_rows_that_are_not_in_memory(rows, tmp_path, monkeypatch):
    X, more, S, _ = rows
    monkeypatch.setattr("thpi.views.MAX_TARGET", 30)
    np.save(tmp_path / "more.npy", more)
    pd = pytest.importorskip("pandas")
    kinds = [
        thpi.rows.Blocks([more[:33], more[33:]]),
        np.load(tmp_path / "more.npy", mmap_mode="r"),
        thpi.rows.Mapped(np.load(tmp_path / "more.npy", mmap_mode="r")),
        pd.DataFrame(more),
        more.tolist(),
        sparse.csr_matrix(more),
    ]
    expected = TransferITQ(8, random_state=0).fit(X, privileged=S, target=more)
    for kind in kinds:
        found = TransferITQ(8, random_state=0).fit(X, privileged=S, target=kind)
        np.testing.assert_allclose(found.projection_, expected.projection_, atol=1e-12)


def test_of_source_rows_that_are_not_in_memory_a_sample_is_read(rows):
    X, _, S, S_U = rows
    blocks = thpi.rows.Blocks([S_U[:40], S_U[40:]])
    for given in (blocks, Whole(blocks)):
        found = TransferITQ(8, max_unpaired=21, random_state=0).fit(X, privileged=S, source=given)
        some = S_U[np.linspace(0, 99, 21).astype(int)]
        expected = TransferITQ(8, max_unpaired=21, random_state=0).fit(X, privileged=S, source=some)
        np.testing.assert_allclose(found.projection_, expected.projection_, atol=1e-9)


@pytest.mark.slow
def test_many_of_them_make_up_for_few_pairs():
    """Neighbours in target space: forty pairs do not know in which directions rows differ, six hundred rows do."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((900, 40)) * np.linspace(3, 0.3, 40)
    S = X @ rng.standard_normal((40, 4))
    pairs, more, new = X[:40], X[40:640], X[640:]

    def found(hasher):
        codes = hasher.transform(new)
        relevance = nearest_relevance(new, new, 10)
        return thpi.evaluation.mean_average_precision(codes, codes, relevance, 32).value

    few = AutoHasher(32, use_source=False, random_state=0).fit(pairs, privileged=S[:40])
    many = AutoHasher(32, use_source=False, random_state=0).fit(pairs, privileged=S[:40], target=more)
    assert found(many) > found(few) + 0.01
    assert found(many) > found(ITQ(32, random_state=0).fit(X[:640])) - 0.01


@pytest.mark.slow
@pytest.mark.parametrize("relevance", ["target", "source", "labels", "groups"])
@pytest.mark.parametrize("kernel", [True, False])
def test_it_is_fitted_saved_and_loaded_under_every_meaning(rows, kernel, relevance, tmp_path):
    X, more, S, S_U = rows
    y = np.arange(len(X)) % 3
    hasher = AutoHasher(8, relevance=relevance, kernel=kernel, random_state=0)
    hasher.fit(X, y, privileged=S, source=S_U, target=more)
    assert hasher.is_kernel_ == kernel
    hasher.save(tmp_path / "model.thpi")
    again = thpi.load(tmp_path / "model.thpi")
    np.testing.assert_array_equal(again.transform(more), hasher.transform(more))
    same = clone(hasher).fit(X, y, privileged=S, source=S_U, target=more)
    np.testing.assert_array_equal(same.projection_, hasher.projection_)
