"""Coordinates of rows, few enough to learn in, with the way back to the features."""

from __future__ import annotations

from dataclasses import replace

from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from thpi._types import Array, InMemory
from thpi.solvers.moments import Coordinates, centred_product, full_rank_coordinates, principal_axes

MAX_COORDINATES = 512


def few_coordinates(X: InMemory, mean: Array, n_bits: int = 0) -> Coordinates:
    """Centred rows in at most 512 coordinates (or twice the bits): all of them, or the principal ones."""
    most = max(MAX_COORDINATES, 2 * n_bits)
    n, d = X.shape
    if (sparse.issparse(X) and min(n, d) > 4 * most) or most < d <= n:
        V, _ = principal_axes(X, mean, most)
        return Coordinates(centred_product(X, mean, V), axes=V)
    if 2 * most < n < d and not sparse.issparse(X):
        # Which of the last directions are among the 512 does not matter: to find them exactly takes many times as long.
        V = randomized_svd(X - mean, most, random_state=0)[2].T
        return Coordinates(centred_product(X, mean, V), axes=V)
    whole = full_rank_coordinates(X, mean)
    if whole.values.shape[1] <= most:
        return whole
    # Fewer rows than columns: the coordinates come largest first, so that the last ones can go.
    assert whole.weights is not None
    return replace(whole, values=whole.values[:, :most], weights=whole.weights[:, :most])
