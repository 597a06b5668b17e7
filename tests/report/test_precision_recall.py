"""Curves are those of all orders of tied rows, counted one by one."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import thpi
from thpi.codes import hamming_distances
from thpi.evaluation import average_precision
from thpi.report import plot


def expected_by_drawing(codes, relevant, n_draws=3000):
    """Mean precision and recall at every rank, over queries with relevant rows and random orders of ties."""
    rng = np.random.RandomState(0)
    distances = hamming_distances(*codes)
    kept = relevant.any(axis=1)
    total = np.zeros((2, distances.shape[1]))
    for _ in range(n_draws):
        order = np.lexsort((rng.random_sample(distances.shape), distances), axis=1)
        hits = np.take_along_axis(relevant, order, axis=1)[kept].cumsum(axis=1)
        total += [
            (hits / hits[:, -1:]).mean(axis=0),
            (hits / np.arange(1, hits.shape[1] + 1)).mean(axis=0),
        ]
    return total / n_draws


@pytest.fixture
def data():
    rng = np.random.RandomState(1)
    X = rng.standard_normal((60, 6))
    relevant = rng.random_sample((10, 50)) < 0.2
    relevant[3] = False  # a query without relevant rows is left out
    return X[:10], X[10:], relevant


def test_curves_have_expected_values_over_ties(data):
    queries, database, relevant = data
    hashers = {f"{bits} bits": thpi.ITQ(bits, random_state=0).fit(database) for bits in (3, 6)}
    ax = plot.precision_recall(hashers, relevant, queries, database, ax=Figure().subplots())
    *curves, chance = ax.get_lines()
    for (name, hasher), line in zip(hashers.items(), curves, strict=True):
        codes = hasher.transform(queries), hasher.transform(database)
        recall, precision = expected_by_drawing(codes, relevant)
        np.testing.assert_allclose(line.get_xdata(), 100 * recall, atol=0.6)
        np.testing.assert_allclose(line.get_ydata(), 100 * precision, atol=0.6)
        mean = 100 * np.nanmean(average_precision(*codes, relevant, hasher.n_bits))
        assert line.get_label() == f"{name}, MAP {mean:.1f}"
    assert chance.get_label() == "random order"
    np.testing.assert_allclose(chance.get_ydata(), 100 * relevant[relevant.any(axis=1)].mean())


def test_codes_and_hashers_give_the_same_curve(data):
    queries, database, relevant = data
    hasher = thpi.ITQ(5, random_state=0).fit(database)
    by_hasher = plot.precision_recall(hasher, relevant, queries, database, ax=Figure().subplots())
    codes = hasher.transform(queries), hasher.transform(database)
    by_codes = plot.precision_recall(codes, relevant, ax=Figure().subplots())
    for one, other in zip(by_hasher.get_lines(), by_codes.get_lines(), strict=True):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())
    assert by_hasher.get_lines()[0].get_label().startswith("ITQ, MAP")


def test_errors_leave_no_figure(data):
    queries, database, relevant = data
    hasher = thpi.ITQ(5, random_state=0).fit(database)
    before = plt.get_fignums()
    with pytest.raises(ValueError, match="queries and database must be target rows"):
        plot.precision_recall(hasher, relevant)
    with pytest.raises(ValueError, match="codes is empty"):
        plot.precision_recall({}, relevant)
    with pytest.raises(ValueError, match="marks no row"):
        plot.precision_recall(hasher, np.zeros_like(relevant), queries, database)
    with pytest.raises(TypeError, match="str under 'a'"):
        plot.precision_recall({"a": "codes"}, relevant)
    assert plt.get_fignums() == before
