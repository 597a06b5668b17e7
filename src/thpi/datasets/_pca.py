"""Principal components that keep a given share of the energy, for dense and sparse rows."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted, validate_data

from thpi._types import Floats, InMemory, MatrixLike, Seed


class EnergyPCA(TransformerMixin, BaseEstimator):
    """PCA to the fewest components that keep a share of the variance ("energy").

    With Xc the centred rows and s_1 >= s_2 >= ... its singular values, the number of components is the least k with

        sum_{i<=k} s_i^2 / ||Xc||_F^2 >= energy.

    ``sklearn.decomposition.PCA(energy, svd_solver="covariance_eigh")`` finds the same components (on the digits up to
    1e-13), but always decomposes the d x d matrix, which is too large for bags of words. Here:

    - if the smaller side of X is at most ``exact_up_to``, the smaller of the centred Gram matrices Xc Xc' and Xc' Xc is
      decomposed exactly;
    - otherwise a randomised SVD finds the leading ``max_components`` singular vectors. If these hold less than
      ``energy``, all of them are kept and a warning says how much they hold.

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
        self,
        energy: float = 0.6,
        *,
        exact_up_to: int = 4_000,
        max_components: int = 500,
        random_state: Seed = 0,
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
        if min(rows.shape) <= self.exact_up_to:
            self._fit_exact(rows)
        else:
            self._fit_randomized(rows)
        return self

    def transform(self, X: MatrixLike) -> Floats:
        """Project rows: (X - mean) components'."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        projected: Floats = np.asarray(rows @ self.components_.T) - self.mean_ @ self.components_.T
        return projected

    @property
    def n_components_(self) -> int:
        """Number of components."""
        return int(self.components_.shape[0])

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit_exact(self, X: InMemory) -> None:
        n, d = X.shape
        wide = n < d
        gram = _centred_gram(X, self.mean_, of_rows=wide)
        total = float(np.trace(gram))
        if not total > 0:
            raise ValueError("X must have rows that differ; all rows are equal.")
        eigenvalues, vectors = linalg.eigh(gram, overwrite_a=True, check_finite=False)
        eigenvalues, vectors = np.maximum(eigenvalues[::-1], 0.0), vectors[:, ::-1]
        k = self._count(eigenvalues, total)
        if wide:
            # Right singular vectors from left ones: v = Xc' u / s, and u is orthogonal to the ones.
            left = vectors[:, :k] - vectors[:, :k].mean(axis=0)
            components = np.asarray(X.T @ left).T / np.sqrt(eigenvalues[:k, None])
        else:
            components = vectors[:, :k].T
        self._keep(components, float(eigenvalues[:k].sum() / total))

    def _fit_randomized(self, X: sparse.csr_array) -> None:
        squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X)
        total = float(squares - X.shape[0] * (self.mean_ @ self.mean_))
        # The SVD is of the rows as they are: one more component covers the direction of the mean, and the small
        # problem within the subspace is solved with the centred rows.
        size = min(self.max_components + 1, *X.shape)
        seed = check_random_state(self.random_state)
        _, _, basis = randomized_svd(X, size, n_oversamples=20, n_iter=4, random_state=seed)
        scores = np.asarray(X @ basis.T) - self.mean_ @ basis.T
        eigenvalues, vectors = linalg.eigh(scores.T @ scores)
        keep = slice(self.max_components)
        eigenvalues, vectors = np.maximum(eigenvalues[::-1], 0.0)[keep], vectors[:, ::-1][:, keep]
        k = self._count(eigenvalues, total)
        held = float(eigenvalues[:k].sum() / total)
        if held < self.energy and k == self.max_components:
            warnings.warn(
                f"max_components={self.max_components} components hold {held:.3f} of the energy, less than "
                f"energy={self.energy}; raise max_components to keep more.",
                UserWarning,
                stacklevel=3,
            )
        self._keep((basis.T @ vectors[:, :k]).T, held)

    def _count(self, eigenvalues: Floats, total: float) -> int:
        shares = np.cumsum(eigenvalues) / total
        # Directions without variance cannot be normalised; with energy=1 rounding must not ask for them.
        positive = int(np.count_nonzero(eigenvalues > total * 1e-12))
        return min(int(np.searchsorted(shares, self.energy)) + 1, positive)

    def _keep(self, components: Floats, held: float) -> None:
        # The sign of an eigenvector is arbitrary: make its largest entry positive, so that runs agree.
        largest = np.abs(components).argmax(axis=1)
        signs = np.sign(components[np.arange(len(components)), largest])
        self.components_ = np.ascontiguousarray(components * signs[:, None])
        self.explained_energy_ = held


def _centred_gram(X: InMemory, mean: Floats, *, of_rows: bool) -> Floats:
    """Return Xc Xc' or Xc' Xc without centring X itself, which would make sparse rows dense."""
    product = X @ X.T if of_rows else X.T @ X
    gram = np.asarray(product.toarray() if sparse.issparse(product) else product, dtype=np.float64)
    if not of_rows:
        return np.asarray(gram - X.shape[0] * np.outer(mean, mean), dtype=np.float64)
    along = np.asarray(X @ mean).ravel()
    return np.asarray(gram - along[:, None] - along[None, :] + mean @ mean, dtype=np.float64)
