from __future__ import annotations

import numpy as np
import pytest

from thpi.evaluation import lookup_precision, lookup_recall


def test_equals_selecting_the_ball(middle_case):
    queries, database, grades, distances = middle_case
    radii = [0, 1, 2, 5, 12, 40]
    grades = grades.copy()
    grades[3] = 0
    precision = lookup_precision(queries, database, grades, 12, radii)
    recall = lookup_recall(queries, database, grades, 12, radii)
    empty = 0
    for q in range(len(queries)):
        good = grades[q] > 0
        for column, radius in enumerate(radii):
            ball = distances[q] <= radius
            empty += not ball.any()
            assert precision[q, column] == pytest.approx(good[ball].mean() if ball.any() else 0.0)
            if good.any():
                assert recall[q, column] == pytest.approx(good[ball].sum() / good.sum())
            else:
                assert np.isnan(recall[q, column])
    assert empty > 0  # the rule for empty balls was put to use


def test_one_radius_gives_one_number_a_query(middle_case):
    queries, database, grades, _ = middle_case
    for function in (lookup_precision, lookup_recall):
        one, many = (function(queries, database, grades, 12, radius) for radius in (2, [2]))
        np.testing.assert_array_equal(one, many[:, 0])
        with pytest.raises(ValueError, match=r"radius=-1 must be an integer >= 0"):
            function(queries, database, grades, 12, -1)
