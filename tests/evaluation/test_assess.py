from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.spatial.distance import cdist

from thpi.evaluation import assess, evaluate
from thpi.hashers import ITQ, LSH

N_QUERIES, N_DATABASE, BITS = 6, 6, 3


def _by_hand(distances, relevant, k):
    """AP, precision and recall at k: the mean over all orders of the rows that sorting by distance allows."""
    found = []
    for order in permutations(range(len(distances))):
        ordered = distances[list(order)]
        if (np.diff(ordered) < 0).any():
            continue
        hits = relevant[list(order)]
        ranks = np.flatnonzero(hits) + 1
        found.append([np.mean(np.arange(1, len(ranks) + 1) / ranks), hits[:k].sum() / k, hits[:k].sum() / hits.sum()])
    return np.mean(found, axis=0)


@pytest.fixture(scope="module")
def tiny():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((N_QUERIES + N_DATABASE, 4)).round(1)
    X[-1] = X[-2]  # a tie in every order
    queries, database = X[:N_QUERIES], X[N_QUERIES:]
    relevant = rng.rand(N_QUERIES, N_DATABASE) < 0.4
    relevant[2] = False
    relevant[[0, 1, 3, 4, 5], [0, 1, 2, 3, 4]] = True
    hasher = LSH(BITS, random_state=0).fit(X)
    return hasher, queries, database, relevant


def _distances(hasher, queries, database):
    itq = ITQ(BITS, random_state=0).fit(database)
    lines = {}
    for coder, names in ((hasher, ("model", "asymmetric")), (itq, ("ITQ", "ITQ asymmetric"))):
        differ = coder.signs(queries)[:, None] != coder.signs(database)
        sizes = np.abs(coder.decision_function(queries))[:, None]
        lines |= zip(names, (differ.sum(axis=2), (differ * sizes).sum(axis=2).round(12)), strict=True)
    return lines | {
        "exact": cdist(queries, database),
        "random": np.zeros((N_QUERIES, N_DATABASE)),
    }


def test_every_line_is_that_of_all_orders_tried_by_hand(tiny):
    hasher, queries, database, relevant = tiny
    found = assess(hasher, queries, database, relevant, k=[3])
    assert (found.n_queries, found.n_database, found.n_empty) == (N_QUERIES, N_DATABASE, 1)
    expected = _distances(hasher, queries, database)
    assert list(found.lines) == list(expected)
    for name, distances in expected.items():
        values = found.lines[name].values
        assert list(values) == ["average_precision", "precision@3", "recall@3"]
        for q in range(N_QUERIES):
            measured = [float(each[q]) for each in values.values()]
            if q == 2:
                assert np.isnan(measured).all()
            else:
                assert measured == pytest.approx(_by_hand(distances[q], relevant[q], 3), rel=1e-12), (name, q)


def test_relevance_may_be_sparse_or_a_function_and_blocks_change_nothing(tiny, monkeypatch):
    hasher, queries, database, relevant = tiny
    first = assess(hasher, queries, database, relevant, k=[1, 5], curves=True)
    monkeypatch.setattr("thpi.evaluation._evaluate._BLOCK_PAIRS", 2 * N_DATABASE)
    for form in (sparse.csr_array(relevant), lambda start, stop: relevant[start:stop]):
        again = assess(hasher, queries, database, form, k=[5, 1], curves=True)
        assert again.measures == first.measures
        for name, line in first.lines.items():
            np.testing.assert_array_equal(again.lines[name].curve, line.curve)
            for measure, values in line.values.items():
                np.testing.assert_array_equal(again.lines[name].values[measure], values)


def test_intervals_are_those_of_student(tiny):
    hasher, queries, database, relevant = tiny
    found = assess(hasher, queries, database, relevant)
    pairs = {"hamming": ("model", "ITQ"), "asymmetric": ("asymmetric", "ITQ asymmetric")}
    assert list(found.over_itq) == list(pairs)
    for order, (model, itq) in pairs.items():
        values = found.lines[model].values["average_precision"]
        kept = values[~np.isnan(values)]
        low, high = stats.t.interval(0.95, len(kept) - 1, loc=kept.mean(), scale=stats.sem(kept))
        measured = found.lines[model].measured("average_precision")
        assert measured == pytest.approx((kept.mean(), max(0, low), min(1, high)))
        gain = kept - found.lines[itq].values["average_precision"][~np.isnan(values)]
        low, high = stats.t.interval(0.95, len(gain) - 1, loc=gain.mean(), scale=stats.sem(gain))
        assert found.over_itq[order][:3] == pytest.approx((gain.mean(), low, high))
        assert f"({100 * low:+.1f} to {100 * high:+.1f}) in {order.replace('h', 'H')} order" in found.notices[0]


def test_measures_of_hamming_distances_are_of_codes_only(tiny):
    hasher, queries, database, relevant = tiny
    more = ["lookup_precision@1", "ndcg@3", "mean_average_precision"]
    found = assess(hasher, queries, database, relevant, k=[2], measures=more)
    model, exact = found.lines["model"], found.lines["exact"]
    codes = hasher.transform(queries), hasher.transform(database)
    by_hand = evaluate(*codes, relevant, BITS, ["lookup_precision@1"])["lookup_precision@1"]
    kept = relevant.any(axis=1)
    np.testing.assert_array_equal(model.values["lookup_precision@1"][kept], by_hand[kept])
    assert exact.measured("lookup_precision@1") is None
    assert exact.measured("ndcg@3") is not None
    assert model.measured("mean_average_precision").value == model.measured("average_precision").value
    assert found.to_dict()["lines"]["exact"]["measures"]["lookup_precision@1"] is None


def test_more_bits_than_itq_can_give_is_said(tiny):
    _, queries, database, relevant = tiny
    found = assess(LSH(9, random_state=0).fit(database), queries, database, relevant)
    assert "ITQ" not in found.lines
    assert found.over_itq == {}
    assert "n_bits=9 is more than ITQ can give" in found.notices[0]


def test_k_is_capped_by_default_and_checked_otherwise(tiny):
    hasher, queries, database, relevant = tiny
    assert assess(hasher, queries, database, relevant).measures == ("average_precision", "precision@1", "recall@1")
    with pytest.raises(ValueError, match="k=8 must be between 1 and the number of database rows, 6"):
        assess(hasher, queries, database, relevant, k=[8])
    with pytest.raises(ValueError, match="which is a curve"):
        assess(hasher, queries, database, relevant, measures=["precision_recall_curve"])
    with pytest.raises(ValueError, match="relevant marks no row"):
        assess(hasher, queries, database, np.zeros_like(relevant))


def test_the_plot_has_a_curve_per_line(tiny):
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    hasher, queries, database, relevant = tiny
    found = assess(hasher, queries, database, relevant, k=[3], curves=True)
    assert found.ranks.tolist() == list(range(1, N_DATABASE + 1))
    curves = found.draw_recall().axes[0].get_lines()
    assert len(curves) == 6
    for curve, line in zip(curves, found.lines.values(), strict=True):
        assert curve.get_ydata()[2] == pytest.approx(100 * line.measured("recall@3").value)
        assert curve.get_ydata()[-1] == pytest.approx(100)
    with pytest.raises(ValueError, match="curves=True"):
        assess(hasher, queries, database, relevant).draw_recall()
