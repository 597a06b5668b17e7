"""From raw rows to the dense matrices that hashers learn from.

``info(name).pipelines()`` makes the pipelines of a data set: for the paper's sets the paper's, for others those of the
paper's set nearest in kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.utils import Tags, check_random_state
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted, validate_data

from thpi._types import Floats, InMemory, Ints, MatrixLike, Seed
from thpi.datasets import PairedDataset

__all__ = [
    "EnergyPCA",
    "Views",
    "fit_transform_views",
    "lda_topics",
    "pca_energy",
    "standardised",
    "tf_pca",
    "tfidf_pca",
    "tfidf_svd",
    "unchanged",
]

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
            held = f"max_components={k} components hold {self.explained_energy_:.3f} of the energy"
            hint = f"less than energy={self.energy}; raise max_components to keep more."
            warnings.warn(f"{held}, {hint}", UserWarning, stacklevel=2)
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
            gram = _dense(X.T @ X) - n * np.outer(mean, mean)
            return gram, float(np.trace(gram)), lambda vectors, _: vectors.T
        along = np.asarray(X @ mean).ravel()
        gram = _dense(X @ X.T) - along[:, None] - along[None, :] + mean @ mean

        def lift(left: Floats, eigenvalues: Floats) -> Floats:
            # Right singular vectors from left ones: v = Xc' u / s, and u is orthogonal to the ones.
            return np.asarray(X.T @ (left - left.mean(axis=0))).T / np.sqrt(eigenvalues[:, None])

        return gram, float(np.trace(gram)), lift

    def _randomised(self, X: sparse.csr_array) -> tuple[Floats, float, Lift]:
        """Return the centred Gram matrix in the leading subspace of the rows; one more component covers their mean."""
        squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X)
        total = float(squares - X.shape[0] * (self.mean_ @ self.mean_))
        size = min(self.max_components + 1, *X.shape)
        seed = check_random_state(self.random_state)
        _, _, basis = randomized_svd(X, size, n_oversamples=20, n_iter=4, random_state=seed)
        scores = np.asarray(X @ basis.T) - self.mean_ @ basis.T
        return scores.T @ scores, total, lambda vectors, _: (basis.T @ vectors).T


def pca_energy(energy: float = 0.6, **options: Any) -> Pipeline:
    """PCA to a share of the energy; ``options`` go to :class:`EnergyPCA`.

    >>> pca_energy(0.9).fit_transform(np.eye(4)).shape
    (4, 3)
    """
    return Pipeline([("pca", EnergyPCA(energy, **options))])


def tf_pca(energy: float = 0.6, **options: Any) -> Pipeline:
    """Term counts scaled to rows of length 1, then PCA to a share of the energy."""
    return Pipeline([("unit", Normalizer()), ("pca", EnergyPCA(energy, **options))])


def tfidf_pca(energy: float = 0.6, **options: Any) -> Pipeline:
    """Term counts to tf-idf (scikit-learn's: smoothed idf, rows of length 1), then PCA to a share of the energy."""
    return Pipeline([("tfidf", TfidfTransformer()), ("pca", EnergyPCA(energy, **options))])


def lda_topics(n_topics: int = 60, random_state: int | None = 0, max_iter: int = 10) -> Pipeline:
    """Tags or term counts to shares of topics by latent Dirichlet allocation.

    >>> topics = lda_topics(2).fit_transform(sparse.csr_array(np.eye(4)))
    >>> topics.shape, topics.sum(axis=1).round(6).tolist()
    ((4, 2), [1.0, 1.0, 1.0, 1.0])
    """
    model = LatentDirichletAllocation(n_topics, random_state=random_state, max_iter=max_iter)
    return Pipeline([("lda", model)])


def standardised() -> Pipeline:
    """Scale every column to mean 0 and variance 1; columns that do not vary become 0."""
    return Pipeline([("scale", StandardScaler())])


def unchanged() -> Pipeline:
    """Leave the rows as they are."""
    return Pipeline([("unchanged", "passthrough")])


def tfidf_svd(n_components: int = 100) -> Pipeline:
    """Term counts to tf-idf, then a truncated SVD; much faster than :func:`tfidf_pca`, for demonstrations."""
    svd = TruncatedSVD(n_components, n_iter=2, random_state=0)
    return Pipeline([("tfidf", TfidfTransformer()), ("svd", svd)])


class Views(NamedTuple):
    """Dense rows of both domains, and the fitted pipelines that made them."""

    target: Floats
    source: Floats
    source_only: Floats | None
    target_pipeline: Pipeline
    source_pipeline: Pipeline


def fit_transform_views(
    dataset: PairedDataset,
    target_pipeline: Pipeline,
    source_pipeline: Pipeline,
    train_rows: npt.ArrayLike,
    fit_on: Literal["train", "all"] = "train",
    *,
    query_rows: npt.ArrayLike | None = None,
) -> Views:
    """Fit the pipelines and transform every row.

    Parameters
    ----------
    dataset, target_pipeline, source_pipeline : the raw rows; copies of the pipelines are fitted.
    train_rows : numbers of the paired training rows (or a mask).
    fit_on : ``"train"`` fits the target pipeline on the training rows and the source pipeline on all source rows
        except the queries, including ``source_only``: in transfer hashing the source is known of rows whose target
        is missing. No query is used. ``"all"`` fits both on all paired rows, queries included, as the paper does.
    query_rows : numbers of the query rows (or a mask); required with ``fit_on="train"``. An empty list means that
        the queries are not among the rows.

    >>> from thpi.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> views = fit_transform_views(digits, pca_energy(), standardised(), range(200), query_rows=range(200, 300))
    >>> views.target.shape[0], views.source.shape
    (2000, (2000, 216))
    """
    train = _row_numbers(train_rows, dataset.n, "train_rows")
    if fit_on == "train":
        if query_rows is None:
            raise ValueError("query_rows must be given with fit_on='train': their source must not be used.")
        query = _row_numbers(query_rows, dataset.n, "query_rows")
        if np.intersect1d(train, query).size:
            raise ValueError("train_rows and query_rows must have no row in common.")
        target_fit, source_fit = train, np.setdiff1d(np.arange(dataset.n), query)
    elif fit_on == "all":
        target_fit = source_fit = np.arange(dataset.n)
    else:
        raise ValueError(f"fit_on={fit_on!r} must be 'train' or 'all'.")

    fitted_target = clone(target_pipeline).fit(dataset.target[target_fit])
    source_rows = dataset.source[source_fit]
    if fit_on == "train" and dataset.source_only is not None:
        both = [source_rows, dataset.source_only]
        source_rows = sparse.vstack(both, format="csr") if sparse.issparse(source_rows) else np.vstack(both)
    fitted_source = clone(source_pipeline).fit(source_rows)
    return Views(
        target=_dense(fitted_target.transform(dataset.target)),
        source=_dense(fitted_source.transform(dataset.source)),
        source_only=None if dataset.source_only is None else _dense(fitted_source.transform(dataset.source_only)),
        target_pipeline=fitted_target,
        source_pipeline=fitted_source,
    )


def _row_numbers(rows: npt.ArrayLike, n: int, name: str) -> Ints:
    numbers = np.asarray(rows)
    if numbers.dtype == np.bool_:
        if numbers.shape != (n,):
            raise ValueError(f"{name} is a mask of shape {numbers.shape}; it must have shape ({n},).")
        return np.flatnonzero(numbers)
    numbers = numbers.astype(np.int64)
    if numbers.ndim != 1 or (numbers.size and not 0 <= numbers.min() <= numbers.max() < n):
        raise ValueError(f"{name} must hold row numbers from 0 to {n - 1}.")
    return numbers


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
