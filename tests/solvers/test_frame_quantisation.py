from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thpi.solvers.frame_quantisation import frame_quantisation


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(0, 4))
def test_loss_never_rises_and_rows_are_orthonormal(seed, p, more):
    rng = np.random.RandomState(seed)
    Y = rng.standard_normal((30, p))
    result = frame_quantisation(Y, rng.standard_normal((30, p + more)), tol=0)
    assert np.all(np.diff(result.objective) <= 0)
    np.testing.assert_allclose(result.R @ result.R.T, np.eye(p), atol=1e-9)
    values = Y @ result.R
    # One more half step, the signs, can only lower the loss that was recorded.
    assert np.linalg.norm(np.where(values >= 0, 1, -1) - values) ** 2 <= result.objective[-1] + 1e-9


def test_a_fixed_point_stays():
    Y = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    result = frame_quantisation(Y, Y)
    np.testing.assert_allclose(result.R, np.eye(2), atol=1e-12)
    assert result.converged


def test_more_columns_than_bits_are_refused():
    with pytest.raises(ValueError, match="Y has 3 columns and start 2"):
        frame_quantisation(np.ones((4, 3)), np.ones((4, 2)))
