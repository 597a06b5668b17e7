"""From raw rows to the dense matrices that hashers learn from.

``info(name).pipelines()`` makes the pipelines of a data set: for the paper's sets the paper's, for others those of the
paper's set nearest in kind.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from thpi._types import Floats, Ints
from thpi.datasets._paired import PairedDataset
from thpi.datasets._pca import EnergyPCA, dense

__all__ = [
    "EnergyPCA",
    "Views",
    "fit_transform_views",
    "lda_topics",
    "pca_energy",
    "standardised",
    "tfidf_pca",
    "tfidf_svd",
    "unchanged",
]


def pca_energy(energy: float = 0.6, **options: Any) -> Pipeline:
    """PCA to a share of the energy; ``options`` go to :class:`EnergyPCA`.

    >>> pca_energy(0.9).fit_transform(np.eye(4)).shape
    (4, 3)
    """
    return Pipeline([("pca", EnergyPCA(energy, **options))])


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
        target=dense(fitted_target.transform(dataset.target)),
        source=dense(fitted_source.transform(dataset.source)),
        source_only=None if dataset.source_only is None else dense(fitted_source.transform(dataset.source_only)),
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
