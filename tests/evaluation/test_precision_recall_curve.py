from __future__ import annotations

import numpy as np
import pytest

from thpi.evaluation import evaluate, precision_recall_curve


def test_pooled_counts_pairs_of_all_queries(middle_case):
    queries, database, grades, distances = middle_case
    curve = precision_recall_curve(queries, database, grades, 12)
    good = grades > 0
    for radius in range(13):
        ball = distances <= radius
        assert curve.precision[radius] == pytest.approx(good[ball].sum() / ball.sum() if ball.any() else 0.0)
        assert curve.recall[radius] == pytest.approx(good[ball].sum() / good.sum())
    np.testing.assert_array_equal(curve.radius, np.arange(13))


def test_macro_is_the_mean_of_lookups_with_relevant_rows(middle_case):
    queries, database, grades, _ = middle_case
    grades = grades.copy()
    grades[[2, 4]] = 0
    curve = precision_recall_curve(queries, database, grades, 12, average="macro")
    keep = (grades > 0).any(axis=1)
    for radius in range(13):
        names = [f"lookup_precision@{radius}", f"lookup_recall@{radius}"]
        precision, recall = (value[keep].mean() for value in evaluate(queries, database, grades, 12, names).values())
        assert curve.precision[radius] == pytest.approx(precision)
        assert curve.recall[radius] == pytest.approx(recall)
    assert curve.recall[-1] == 1


def test_without_relevant_pairs():
    nothing = [[False, False]]
    assert np.isnan(precision_recall_curve([[0]], [[0], [1]], nothing, 2).recall).all()
    assert np.isnan(precision_recall_curve([[0]], [[0], [1]], nothing, 2, average="macro").precision).all()


def test_bad_average_is_named():
    with pytest.raises(ValueError, match="average='micro'"):
        precision_recall_curve([[0]], [[0]], [[True]], 2, average="micro")
