from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from thpi.base import Views
from thpi.hashers._itq_plus import join_imputed
from thpi.rows import Blocks


@pytest.fixture(scope="module")
def linear():
    """A target that is a linear function of the source, with columns of no use beside it."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((300, 5))
    return S @ rng.standard_normal((5, 9)) + 3, S


@pytest.mark.parametrize("n", [8, 120])
def test_what_is_a_function_of_the_source_is_imputed_exactly(linear, n):
    """With fewer rows than columns, too: the coordinates are then those of the span of the rows."""
    X, S = linear
    joined, back, _ = join_imputed(Views(X[:n], S[:n], S[n:]), 4, 1000, np.random.RandomState(0))
    p = joined.X.shape[1]
    true = (X - X[:n].mean(axis=0)) @ back(np.eye(p))
    np.testing.assert_allclose(joined.X, true, atol=0.02 * np.abs(true).max())
    np.testing.assert_array_equal(joined.S, S)
    np.testing.assert_array_equal(joined.mean, 0)
    # The coordinates keep lengths, so that a loss of them is one of the rows.
    lengths = np.linalg.norm(X[:n] - X[:n].mean(axis=0), axis=1)
    np.testing.assert_allclose(np.linalg.norm(joined.X[:n], axis=1), lengths)


def test_more_than_asked_for_are_drawn_each_once(linear):
    X, S = linear
    drawn = join_imputed(Views(X[:50], S[:50], S[50:]), 4, 30, np.random.RandomState(1))[0].S[50:]
    where = [int(np.flatnonzero((row == S).all(axis=1))[0]) for row in drawn]
    assert len(set(where)) == 30
    assert min(where) >= 50


@pytest.mark.parametrize("form", ["blocks", "sparse"])
def test_source_rows_in_another_form_give_the_same(linear, form):
    X, S = linear
    other = Blocks([S[50:120], S[120:]]) if form == "blocks" else sparse.csr_matrix(S[50:])
    plain, found = (
        join_imputed(Views(X[:50], S[:50], rows), 4, 60, np.random.RandomState(0))[0] for rows in (S[50:], other)
    )
    dense = found.S.toarray() if sparse.issparse(found.S) else found.S
    np.testing.assert_array_equal(dense, plain.S)
    np.testing.assert_allclose(found.X, plain.X, atol=1e-9)
