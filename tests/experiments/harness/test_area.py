from __future__ import annotations

import numpy as np
import pytest

from experiments.harness.area import pooled_precision_recall_area
from thpi.codes import hamming_distances, pack
from thpi.evaluation import MEASURES, evaluate, mean_average_precision


def literal_area(good_pairs, distances):
    """Walk through the radii as the published evaluation does, one comparison of the whole matrix each."""
    largest = int(distances.max())
    precision, recall = np.zeros(largest), np.zeros(largest)
    for n in range(largest):
        retrieved = distances <= n + 0.00001
        good_retrieved = good_pairs[retrieved].sum()
        precision[n] = good_retrieved / retrieved.sum() if retrieved.any() else 0.0
        recall[n] = good_retrieved / good_pairs.sum()
    if largest and recall[0] != 0:
        precision, recall = np.insert(precision, 0, precision[0]), np.insert(recall, 0, 0.0)
    area = 0.0
    for n in range(1, len(recall)):
        area += (recall[n] - recall[n - 1]) * (precision[n] + precision[n - 1]) / 2
    return area


@pytest.mark.parametrize("n_bits", [1, 2, 3, 8, 16, 32, 64])
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_literal_form(n_bits, seed):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((5, n_bits))
    rows, labels = [], []
    for n in (20, 150):
        label = rng.integers(0, 5, n)
        rows.append(pack(centres[label] + rng.standard_normal((n, n_bits)) > 0))
        labels.append(label)
    good = labels[0][:, None] == labels[1]
    got = pooled_precision_recall_area(*rows, good, n_bits)
    expected = literal_area(good, hamming_distances(*rows))
    assert got == pytest.approx(expected, abs=1e-14)
    assert got > 0


def test_leading_radii_without_pairs_join_at_zero():
    # Distances 2, 3, 4, all good: points (0, 0), (0, 0), (1/3, 1), (2/3, 1), so 1/6 + 1/3.
    assert pooled_precision_recall_area([[0]], [[3], [7], [15]], [[True] * 3], 4) == pytest.approx(0.5)


def test_the_curve_starts_at_recall_zero_with_the_precision_of_radius_zero():
    # Distances 0, 1, 2, all good: points (0, 1), (1/3, 1), (2/3, 1).
    assert pooled_precision_recall_area([[0]], [[0], [1], [3]], [[True] * 3], 4) == pytest.approx(2 / 3)
    # Distances 0, 0, 1, 2, one good at 0 and at 1: points (0, 1/2), (1/2, 1/2), (1, 2/3).
    good = [[True, False, True, False]]
    expected = 1 / 4 + (1 / 2 + 2 / 3) / 4
    assert pooled_precision_recall_area([[0]], [[0], [0], [1], [3]], good, 4) == pytest.approx(expected)
    # Nothing good at 0: no point is put before (0, 0), which would change nothing.
    assert pooled_precision_recall_area([[0]], [[0], [1], [3]], [[False, True, True]], 4) == pytest.approx(1 / 8)


def test_it_is_a_measure_like_any_other_and_not_mean_average_precision():
    rng = np.random.default_rng(11)
    queries, database = (pack(rng.integers(0, 2, (n, 12))) for n in (30, 200))
    relevant = rng.random((30, 200)) < 0.4
    area = pooled_precision_recall_area(queries, database, relevant, 12)
    name = "pooled_precision_recall_area"
    assert MEASURES[name].scope == "pooled"
    assert evaluate(queries, database, relevant, 12, [name]) == {name: area}
    assert abs(area - mean_average_precision(queries, database, relevant, 12).value) > 0.01


def test_degenerate_cases():
    assert pooled_precision_recall_area([[0]], [[0], [0]], [[True, False]], 4) == 0  # no distance but 0
    assert pooled_precision_recall_area([[0]], [[0], [1]], [[True, False]], 4) == 1  # from recall 0 to radius 0
    assert np.isnan(pooled_precision_recall_area([[0]], [[0], [7]], [[False, False]], 4))
