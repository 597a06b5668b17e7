from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thpi.evaluation import database_rows, split_rows


@given(n=st.integers(20, 500), alpha=st.floats(0.1, 0.9), seed=st.integers(0, 99))
def test_every_row_is_in_exactly_one_part_of_the_stated_size(n: int, alpha: float, seed: int) -> None:
    split = split_rows(n, alpha, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(n))
    assert len(split.train) == round(alpha * n)
    assert len(split.query) == max(1, round(0.1 * (n - len(split.train))))
    np.testing.assert_array_equal(np.setdiff1d(np.arange(n), split.query), database_rows(split, "all"))
    np.testing.assert_array_equal(split.train, database_rows(split, "train"))
    known = np.union1d(split.train, split.query)
    np.testing.assert_array_equal(np.setdiff1d(np.arange(n), known), database_rows(split, "rest"))


def test_a_seed_fixes_the_split_and_seeds_differ() -> None:
    first, again, other = split_rows(100, 0.5, 3), split_rows(100, 0.5, 3), split_rows(100, 0.5, 4)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first.train, other.train)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_alpha_outside_of_0_and_1_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha=.* must be greater than 0 and less than 1"):
        split_rows(100, alpha)


def test_too_few_rows_and_unknown_database_are_refused() -> None:
    with pytest.raises(ValueError, match="n_rows=3"):
        split_rows(3, 0.1)
    with pytest.raises(ValueError, match="database='some'"):
        database_rows(split_rows(10, 0.5), "some")  # type: ignore[arg-type]
