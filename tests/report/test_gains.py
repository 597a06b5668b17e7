"""Gains are drawn where the hashers and the diagnosis say they are."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import thpi
from thpi.evaluation import PairedDifference
from thpi.report import plot


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((90, 4))
    return np.hstack([S, 2 * rng.standard_normal((90, 8))]), S


@pytest.fixture(scope="module")
def hashers(pairs):
    X, S = pairs
    options = {"n_folds": 2, "n_repeats": 1, "kernel": False, "random_state": 0}
    return [thpi.AutoHasher(6, relevance=name, **options).fit(X, privileged=S) for name in ("target", "source")]


def drawn(ax):
    """By name: the mean, the ends of the interval, and whether the point is filled."""
    found = {}
    names = [label.get_text() for label in ax.get_yticklabels()]
    for name, container in zip(names, ax.containers, strict=True):
        point, _, (bars,) = container.lines
        low, high = np.array(bars.get_segments()[0])[:, 0]
        found[name] = (point.get_xdata()[0], low, high, point.get_markerfacecolor() != "none")
    return found


def test_gains_of_hashers(hashers):
    found = drawn(plot.gains(hashers, ax=Figure().subplots()))
    assert list(found) == ["near in target space", "near in source space"]
    for hasher, (mean, low, high, filled) in zip(hashers, found.values(), strict=True):
        np.testing.assert_allclose([mean, low, high], [hasher.gain_, *hasher.gain_interval_], atol=1e-9)
        assert filled == (low > 0 or high < 0)
    assert any(filled for *_, filled in found.values())


def test_one_hasher_and_names_of_your_own(hashers):
    one = drawn(plot.gains(hashers[1], ax=Figure().subplots()))
    named = drawn(plot.gains({"mine": hashers[1]}, ax=Figure().subplots()))
    assert one == {"near in source space": named["mine"]}


@pytest.mark.slow
def test_gains_of_a_diagnosis(pairs):
    X, S = pairs
    diagnosis = thpi.diagnose(X, S, n_bits=6, n_folds=2, random_state=0)
    found = drawn(plot.gains(diagnosis, ax=Figure().subplots()))
    for answer in diagnosis.answers:
        np.testing.assert_allclose(found[answer.title][:3], answer.gain[:3], atol=1e-9)


def test_differences():
    found = drawn(plot.gains({"a": PairedDifference(1.0, -0.5, 2.5, 9)}, ax=Figure().subplots()))
    assert found == {"a": (1.0, -0.5, 2.5, False)}


def test_errors_leave_no_figure(hashers):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match="found is empty"):
        plot.gains([])
    with pytest.raises(TypeError, match="found has float"):
        plot.gains({"a": 3.0})
    with pytest.raises(AttributeError, match="not fitted"):
        plot.gains(thpi.AutoHasher(8))
    assert plt.get_fignums() == before
