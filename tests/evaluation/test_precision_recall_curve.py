from __future__ import annotations

import numpy as np
import pytest

from thpi.evaluation import precision_recall_curve


def test_pooled_counts_pairs_of_all_queries(middle_case):
    queries, database, grades, distances = middle_case
    curve = precision_recall_curve(queries, database, grades, 12)
    good = grades > 0
    for radius in range(13):
        ball = distances <= radius
        assert curve.precision[radius] == pytest.approx(good[ball].sum() / ball.sum() if ball.any() else 0.0)
        assert curve.recall[radius] == pytest.approx(good[ball].sum() / good.sum())
    np.testing.assert_array_equal(curve.radius, np.arange(13))


def test_without_relevant_pairs():
    nothing = [[False, False]]
    assert np.isnan(precision_recall_curve([[0]], [[0], [1]], nothing, 2).recall).all()
