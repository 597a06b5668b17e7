"""Every measure of the table against counting, with all orders of the database where ties have to be broken."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from thpi.codes import hamming_distances, pack
from thpi.evaluation import MEASURES, evaluate, ranked_average_precision

from . import brute_force

N_BITS = 3
ORDERS = [list(order) for order in permutations(range(5))]


def _over_orders(measure, combine=np.mean):
    """Rank the rows of every order of the database by a stable sort, and combine the values of each query."""

    def of_queries(distances, grades, parameter):
        values = []
        for d, g in zip(distances, grades, strict=True):
            rankings = [[g[row] for row in sorted(order, key=lambda row, d=d: d[row])] for order in ORDERS]
            values.append(combine([measure(ranking, parameter) for ranking in rankings]))
        return np.array(values)

    return of_queries


def _average_precision(ranking, _):
    return brute_force.average_precision([grade > 0 for grade in ranking])


def _ball(d, g, radius):
    """Rows within the radius, relevant rows among them, and all relevant rows."""
    return sum(d <= radius), sum((g > 0) & (d <= radius)), sum(g > 0)


def _lookup(distances, grades, radius, which):
    values = []
    for d, g in zip(distances, grades, strict=True):
        n, good, total = _ball(d, g, radius)
        values.append((good / n if n else 0.0) if which == "precision" else (good / total if total else np.nan))
    return np.array(values)


def _pooled(distances, grades, _):
    counts = np.array([_ball(distances.ravel(), grades.ravel(), radius) for radius in range(N_BITS + 1)])
    precision = [good / n if n else 0.0 for n, good, _ in counts]
    return [np.arange(N_BITS + 1), precision, counts[:, 1] / counts[:, 2]]


LITERAL = {
    "average_precision": _over_orders(_average_precision),
    "mean_average_precision": lambda *case: np.nanmean(_over_orders(_average_precision)(*case)),
    "precision": _over_orders(brute_force.precision_at),
    "recall": _over_orders(brute_force.recall_at),
    "ndcg": _over_orders(brute_force.ndcg_at),
    "lookup_precision": lambda *case: _lookup(*case, "precision"),
    "lookup_recall": lambda *case: _lookup(*case, "recall"),
    "precision_recall_curve": _pooled,
}


def test_no_measure_is_left_out():
    assert set(LITERAL) == set(MEASURES) - {"pooled_precision_recall_area"}  # that of the experiments


@pytest.mark.parametrize("name", LITERAL)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_counting_gives(name, seed):
    rng = np.random.default_rng(seed)
    queries, database = (pack(rng.integers(0, 2, (n, N_BITS))) for n in (6, 5))
    grades = rng.integers(0, 4, (6, 5)) * (rng.random((6, 5)) < 0.6)
    grades[0], grades[1] = 0, 1  # a query without relevant rows, and one to which all are relevant
    distances = hamming_distances(queries, database)
    for parameter in (0, 1, 2, 3, 5, 9) if MEASURES[name].parameter else (None,):
        if MEASURES[name].parameter == "k" and parameter == 0:
            continue
        asked = name if parameter is None else f"{name}@{parameter}"
        found = evaluate(queries, database, grades, N_BITS, [asked])[asked]
        np.testing.assert_allclose(found, LITERAL[name](distances, grades, parameter), rtol=1e-12, err_msg=asked)


@pytest.mark.parametrize(("sign", "combine"), [(-1, np.max), (1, np.min)], ids=["best", "worst"])
def test_the_best_and_the_worst_order_are_distances(sign, combine):
    rng = np.random.default_rng(0)
    distances, relevant = rng.integers(0, 3, (6, 5)), rng.random((6, 5)) < 0.5
    found = ranked_average_precision(2 * distances + sign * relevant, relevant)
    np.testing.assert_allclose(found, _over_orders(_average_precision, combine)(distances, relevant, None), rtol=1e-12)
