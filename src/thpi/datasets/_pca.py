"""Principal components that keep a given share of the energy, for dense and sparse rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted, validate_data

from thpi._types import Floats, InMemory, MatrixLike, Seed

Lift: TypeAlias = Callable[[Floats, Floats], Floats]
"""Turns eigenvectors and eigenvalues of a Gram matrix into components."""


class EnergyPCA(TransformerMixin, BaseEstimator):
    """PCA to the fewest components that keep a share of the variance ("energy").

    With Xc the centred rows and s_1 >= s_2 >= ... its singular values, the number of components is the least k with

        sum_{i<=k} s_i^2 / ||Xc||_F^2 >= energy.

    ``sklearn.decomposition.PCA(energy, svd_solver="covariance_eigh")`` finds the same components (on the digits up to
    1e-13), but always decomposes the d x d matrix, which is too large for bags of words. Here the smaller of Xc Xc' and
    Xc' Xc is decomposed. If it has more than ``exact_up_to`` rows, a randomised SVD finds the leading
    ``max_components`` components; if these hold less than ``energy``, a warning says how much they hold.

    Parameters
    ----------
    energy : share of the variance to keep, in (0, 1].
    exact_up_to : largest side of a Gram matrix that is decomposed exactly.
    max_components : largest number of components of the randomised SVD.
    random_state : seed of the randomised SVD.

    Attributes
    ----------
    components_ : k x d, orthonormal rows.
    mean_ : d, the mean of the rows.
    explained_energy_ : the share of the variance that the components hold.
    n_components_ : k.

    Examples
    --------
    >>> X = np.diag([4.0, 2.0, 1.0, 1.0]).repeat(5, axis=0)
    >>> EnergyPCA(energy=0.6).fit_transform(X).shape
    (20, 1)
    """

    def __init__(
        self, energy: float = 0.6, *, exact_up_to: int = 4_000, max_components: int = 500, random_state: Seed = 0
    ) -> None:
        self.energy = energy
        self.exact_up_to = exact_up_to
        self.max_components = max_components
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: object = None) -> EnergyPCA:
        """Find the components of the rows of ``X``."""
        if not 0 < self.energy <= 1:
            raise ValueError(f"energy={self.energy!r} must be greater than 0 and at most 1.")
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        self.mean_ = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        exact = min(rows.shape) <= self.exact_up_to
        gram, total, lift = self._exact(rows) if exact else self._randomised(rows)
        if not total > 0:
            raise ValueError("X must have rows that differ; all rows are equal.")
        eigenvalues, vectors = linalg.eigh(gram, overwrite_a=True, check_finite=False)
        eigenvalues = np.maximum(eigenvalues[::-1], 0.0)[: None if exact else self.max_components]
        # Directions without variance cannot be normalised; with energy=1 rounding must not ask for them.
        positive = int(np.count_nonzero(eigenvalues > total * 1e-12))
        k = min(int(np.searchsorted(np.cumsum(eigenvalues) / total, self.energy)) + 1, positive)
        self.n_components_, self.explained_energy_ = k, float(eigenvalues[:k].sum() / total)
        if not exact and self.explained_energy_ < self.energy and k == self.max_components:
            warnings.warn(
                f"max_components={k} components hold {self.explained_energy_:.3f} of the energy, less than "
                f"energy={self.energy}; raise max_components to keep more.",
                UserWarning,
                stacklevel=2,
            )
        components = lift(vectors[:, ::-1][:, :k], eigenvalues[:k])
        # The sign of an eigenvector is arbitrary: make its largest entry positive, so that runs agree.
        signs = np.sign(components[np.arange(k), np.abs(components).argmax(axis=1)])
        self.components_ = np.ascontiguousarray(components * signs[:, None])
        return self

    def transform(self, X: MatrixLike) -> Floats:
        """Project rows: (X - mean) components'."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        projected: Floats = np.asarray(rows @ self.components_.T) - self.mean_ @ self.components_.T
        return projected

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _exact(self, X: InMemory) -> tuple[Floats, float, Lift]:
        """Return the smaller centred Gram matrix, without centring X itself, which would make sparse rows dense."""
        (n, d), mean = X.shape, self.mean_
        if n >= d:
            gram = dense(X.T @ X) - n * np.outer(mean, mean)
            return gram, float(np.trace(gram)), lambda vectors, _: vectors.T
        along = np.asarray(X @ mean).ravel()
        gram = dense(X @ X.T) - along[:, None] - along[None, :] + mean @ mean

        def lift(left: Floats, eigenvalues: Floats) -> Floats:
            # Right singular vectors from left ones: v = Xc' u / s, and u is orthogonal to the ones.
            return np.asarray(X.T @ (left - left.mean(axis=0))).T / np.sqrt(eigenvalues[:, None])

        return gram, float(np.trace(gram)), lift

    def _randomised(self, X: sparse.csr_array) -> tuple[Floats, float, Lift]:
        """Return the centred Gram matrix within the leading subspace of the rows as they are.

        One more component covers the direction of the mean.
        """
        squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X)
        total = float(squares - X.shape[0] * (self.mean_ @ self.mean_))
        size = min(self.max_components + 1, *X.shape)
        seed = check_random_state(self.random_state)
        _, _, basis = randomized_svd(X, size, n_oversamples=20, n_iter=4, random_state=seed)
        scores = np.asarray(X @ basis.T) - self.mean_ @ basis.T
        return scores.T @ scores, total, lambda vectors, _: (basis.T @ vectors).T


def dense(rows: Any) -> Floats:
    """Return rows, dense or sparse, as a dense array."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
