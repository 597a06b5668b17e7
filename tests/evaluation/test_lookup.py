from __future__ import annotations

import numpy as np
import pytest

from thpi.evaluation import evaluate


def test_equals_selecting_the_ball(middle_case):
    queries, database, grades, distances = middle_case
    radii = [0, 1, 2, 5, 12, 40]
    grades = grades.copy()
    grades[3] = 0
    precision, recall = (
        np.stack([evaluate(queries, database, grades, 12, [f"{name}@{r}"])[f"{name}@{r}"] for r in radii], axis=1)
        for name in ("lookup_precision", "lookup_recall")
    )
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
