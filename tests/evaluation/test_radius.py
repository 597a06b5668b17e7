from __future__ import annotations

import numpy as np
import pytest

from thpi.evaluation import distance_histograms, radius_for_precision

BITS = 6


@pytest.mark.parametrize("wish", [0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_radius_is_the_largest_by_brute_force(wish, seed):
    rng = np.random.RandomState(seed)
    codes = rng.randint(2**BITS, size=(40, 1)).astype(np.uint8)
    queries, database = codes[:9], codes[9:]
    distances = np.array([[bin(int(a) ^ int(b)).count("1") for b in database[:, 0]] for a in queries[:, 0]])
    # Mostly the near rows are relevant.
    relevant = rng.rand(9, 31) < np.array([1.0, 0.8, 0.6, 0.2, 0.1, 0.1, 0.1])[distances]
    found = radius_for_precision(distance_histograms(queries, database, relevant, BITS), wish, random_state=seed)

    order = np.random.RandomState(seed).permutation(9)
    first, second = order[:4], order[4:]
    good = None
    for radius in range(BITS + 1):
        within = distances[first] <= radius
        if within.any() and relevant[first][within].mean() >= wish:
            good = radius
    assert found.radius == good
    assert (found.n_choosing, found.n_measuring) == (4, 5)
    if good is None:
        assert np.isnan(found.precision)
        assert "No radius reaches" in str(found)
        return
    within, truth = distances[second] <= good, relevant[second]
    assert found.found == within.sum()
    assert found.recall == pytest.approx(truth[within].sum() / truth.sum())
    if within.any():
        assert found.precision == pytest.approx(truth[within].mean())
        assert ("less than wished" in str(found)) == (found.precision < wish)
    else:
        assert "finds nothing" in str(found)


def test_what_cannot_be_chosen_is_said():
    h = distance_histograms([[0], [0]], [[1], [3]], [[False, True]] * 2, 2)  # the nearer row is never relevant
    found = radius_for_precision(h, 0.9, random_state=0)
    assert found.radius is None
    assert str(found) == "No radius reaches a precision of 90 % on 1 queries. The best is 50.0 %."
    assert radius_for_precision(h, 0.5, random_state=0).radius == 2
    for wish in (0.0, 1.1, float("nan")):
        with pytest.raises(ValueError, match="must be greater than 0 and at most 1"):
            radius_for_precision(h, wish)
    one = distance_histograms([[0]], [[1]], [[True]], 2)
    with pytest.raises(ValueError, match="at least 2 queries"):
        radius_for_precision(one, 0.5)
