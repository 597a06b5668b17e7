from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score

from thpi.evaluation import (
    MEASURES,
    average_precision,
    average_precision_among,
    evaluate,
    evaluate_distances,
    ranked_average_precision,
)

from . import brute_force

RANKS = ("average_precision", "precision", "recall", "ndcg")


def test_equals_walking_through_all_tie_orders(tied_case):
    _, _, grades, distances = tied_case
    values = brute_force.over_orders(distances, grades > 0, brute_force.average_precision)
    got = ranked_average_precision(distances * 0.37, grades > 0)
    np.testing.assert_allclose(got, [np.mean(v) for v in values], rtol=1e-13)
    assert np.isnan(got[0])


def test_of_hamming_distances_it_is_average_precision(middle_case):
    queries, database, grades, distances = middle_case
    expected = average_precision(queries, database, grades, 12)
    for relevance in (grades, sparse.csr_array(grades), lambda start, stop: grades[start:stop]):
        np.testing.assert_allclose(ranked_average_precision(distances, relevance), expected, rtol=1e-13)


def test_without_ties_it_is_that_of_sklearn():
    rng = np.random.default_rng(3)
    distances, relevant = rng.standard_normal((5, 60)), rng.random((5, 60)) < 0.2
    expected = [average_precision_score(r, -d) for d, r in zip(distances, relevant, strict=True)]
    np.testing.assert_allclose(ranked_average_precision(distances, relevant), expected, rtol=1e-12)


@pytest.mark.parametrize("distances", [[1.0, 2.0], [[1.0, np.nan]], [[1.0, np.inf]], [["a", "b"]]])
def test_what_is_no_distance_is_refused(distances):
    with pytest.raises(ValueError, match="distances must be a 2-D array of finite numbers"):
        ranked_average_precision(distances, [[True, False]])


def test_relevance_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="relevance has shape"):
        ranked_average_precision([[1.0, 2.0]], [[True, False, True]])


@pytest.mark.parametrize("relevance", [lambda grades: grades > 0, lambda grades: grades], ids=["boolean", "graded"])
def test_a_measure_is_of_ranks_if_stretching_all_distances_does_not_change_it(middle_case, monkeypatch, relevance):
    queries, database, grades, distances = middle_case
    relevant = relevance(grades)
    monkeypatch.setattr("thpi.evaluation._evaluate._BLOCK_PAIRS", 3 * len(database))  # several blocks
    for measure in MEASURES.values():
        asked = f"{measure.name}@5" if measure.parameter else measure.name
        if measure.name in RANKS:
            (found,) = evaluate_distances(3.7 * distances, relevant, [asked]).values()
            np.testing.assert_allclose(found, evaluate(queries, database, relevant, 12, [asked])[asked], rtol=1e-12)
        else:
            with pytest.raises(ValueError, match=f"'{asked}', which needs codes"):
                evaluate_distances(distances, relevant, [asked])


def test_blocks_change_nothing_and_bad_arguments_are_named(middle_case, monkeypatch):
    _, _, grades, distances = middle_case
    expected = evaluate_distances(distances, grades, ["recall@3", "ndcg@9"])
    monkeypatch.setattr("thpi.evaluation._evaluate._BLOCK_PAIRS", distances.shape[1])  # a query at a time
    found = evaluate_distances(distances, grades, ["recall@3", "ndcg@9"])
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
    with pytest.raises(ValueError, match="list of names"):
        evaluate_distances(distances, grades, "recall@3")
    with pytest.raises(ValueError, match="finite numbers"):
        evaluate_distances([[np.nan]], [[True]])


def test_among_all_others_a_row_is_no_answer_to_itself():
    rng = np.random.default_rng(4)
    codes, relevant = rng.integers(0, 8, (30, 1), dtype=np.uint8), rng.random((30, 30)) < 0.2
    np.fill_diagonal(relevant, False)
    relevant[7] = False
    found = average_precision_among(codes, relevant, 3)
    for row in range(30):
        rest = np.delete(np.arange(30), row)
        expected = average_precision(codes[[row]], codes[rest], relevant[[row]][:, rest], 3)
        np.testing.assert_allclose(found[[row]], expected, rtol=1e-12)
    assert np.isnan(found[7])
