from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score

from thpi.evaluation import MEASURES, average_precision, evaluate, ranked_average_precision
from thpi.evaluation._ranked import Ranked, is_of_ranks

from . import brute_force


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


def test_a_measure_is_of_ranks_if_stretching_all_distances_does_not_change_it(middle_case):
    queries, database, grades, distances = middle_case
    for measure in MEASURES.values():
        if is_of_ranks(measure):
            asked = f"{measure.name}@5" if measure.parameter else measure.name
            hamming = evaluate(queries, database, grades > 0, 12, [asked])[asked]
            parameter = [5] if measure.parameter else []
            found = np.ravel(measure.compute(Ranked(3.7 * distances, grades > 0), *parameter))
            np.testing.assert_allclose(found, hamming, rtol=1e-12)
    assert {name for name, measure in MEASURES.items() if is_of_ranks(measure)} == {
        "average_precision",
        "precision",
        "recall",
        "ndcg",
    }
