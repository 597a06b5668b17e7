from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from thpi.evaluation import paired_difference


def test_the_interval_is_that_of_the_paired_t_test() -> None:
    rng = np.random.RandomState(0)
    a, b = rng.standard_normal(10) + 1, rng.standard_normal(10)
    found = paired_difference(a, b, confidence=0.9)
    expected = stats.ttest_rel(a, b).confidence_interval(0.9)
    assert found.low == pytest.approx(expected.low)
    assert found.high == pytest.approx(expected.high)
    assert found.mean == pytest.approx((a - b).mean())


def test_what_the_interval_decides() -> None:
    assert paired_difference([2.0, 2.1, 2.0], [1.0, 1.0, 1.0]).decided == "won"
    assert paired_difference([1.0, 1.0, 1.0], [2.0, 2.1, 2.0]).decided == "lost"
    assert paired_difference([1.0, 3.0], [2.0, 2.0]).decided == "open"
    one = paired_difference([2.0], [1.0])
    assert math.isnan(one.low)
    assert one.decided == "open"


def test_unequal_or_empty_input_is_refused() -> None:
    for a, b in (([1.0], [1.0, 2.0]), ([], [])):
        with pytest.raises(ValueError, match="equally long"):
            paired_difference(a, b)
    with pytest.raises(ValueError, match="confidence=1"):
        paired_difference([1.0], [1.0], confidence=1)
