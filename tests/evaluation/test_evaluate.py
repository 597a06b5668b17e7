"""The table of measures and the function that computes many at once."""

from __future__ import annotations

import numpy as np
import pytest

from thpi import evaluation as metrics
from thpi.evaluation import MEASURES, evaluate

DIRECT = {
    "average_precision": lambda *a: metrics.average_precision(*a),
    "mean_average_precision": lambda *a: metrics.mean_average_precision(*a).value,
    "precision@20": lambda *a: metrics.precision_at_k(*a, 20),
    "recall@20": lambda *a: metrics.recall_at_k(*a, 20),
    "precision_recall_curve": lambda *a: metrics.precision_recall_curve(*a),
    "ndcg@20": lambda *a: metrics.ndcg_at_k(*a, 20),
}


def test_every_measure_equals_its_function(middle_case):
    queries, database, grades, _ = middle_case
    arguments = (queries, database, grades, 12)
    result = evaluate(*arguments, measures=DIRECT)
    for name, function in DIRECT.items():
        np.testing.assert_array_equal(result[name], function(*arguments), err_msg=name)


def test_scope_tells_the_shape(middle_case):
    queries, database, grades, _ = middle_case
    result = evaluate(queries, database, grades, 12, measures=DIRECT)
    shapes = {"query": (30,), "pooled": (), "curve": (3, 13)}
    for name, value in result.items():
        assert np.shape(value) == shapes[MEASURES[name.partition("@")[0]].scope], name


def test_relevance_is_read_once(middle_case):
    queries, database, grades, _ = middle_case
    ranges = []

    def relevance(start, stop):
        ranges.append((start, stop))
        return grades[start:stop]

    evaluate(queries, database, relevance, 12, DIRECT)
    assert ranges == [(0, 30)]


def test_gain_reaches_ndcg(middle_case):
    queries, database, grades, _ = middle_case
    got = evaluate(queries, database, grades, 12, ["ndcg@5"], gain="exponential")["ndcg@5"]
    np.testing.assert_array_equal(got, metrics.ndcg_at_k(queries, database, grades, 12, 5, gain="exponential"))


@pytest.mark.parametrize(
    ("measures", "match"),
    [
        (["map"], "measures has 'map'; the measures are"),
        (["precision"], "write k as in 'precision@10'"),
        (["precision@ten"], "write k as in 'precision@10'"),
        (["lookup_recall@"], "write radius as in"),
        (["average_precision@5"], "takes no parameter"),
        (["precision@0"], "k=0 must be an integer >= 1"),
        ("average_precision", "must be a list of names"),
    ],
)
def test_bad_names_are_told(measures, match):
    with pytest.raises(ValueError, match=match):
        evaluate([[0]], [[0]], [[True]], 2, measures)
