"""Kernel features of the target rows, in which every candidate can be learned as in the rows themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thpi._types import Array, Fitted, InMemory, is_sparse
from thpi.auto._folds import Folds
from thpi.base import Views
from thpi.hash_functions import kernel_values, squared_distances
from thpi.hashers._coordinates import few_coordinates
from thpi.hashers._geometry import Geometry, Learned
from thpi.solvers.kernel_features import inverse_root, median_exponent

WIDEST = 1 / 3
"""Exponent of the widest of the three kernels, in units of one over the median squared distance of landmarks."""
LEAST_LANDMARKS = 30
"""Fewer do not make a kernel."""
SAME_ROWS = 1e-4
"""Correlation below which columns count as uncorrelated but for rounding."""


class Space(NamedTuple):
    """Coordinates of the pairs, their folds (None if there are too few pairs), and the way back to a hash function."""

    geometry: Geometry
    folds: Folds | None
    fitted: Callable[[Learned], Fitted]


class KernelKind(NamedTuple):
    """Number of landmarks, and whether the kernel looks at the rows as they are, at their directions, or at both."""

    n_landmarks: int
    rows: bool
    directions: bool


def kernel_space(views: Views, linear: Space, kind: KernelKind, rng: np.random.RandomState) -> Space:
    """Kernel features ``k(x) K^(-1/2)`` of all target rows, K the kernel of landmarks, with the folds of another space.

    Their inner products are the kernel. The landmarks are target rows, drawn at random if there are more than wanted.
    """
    X, n, other = views.all_target, views.X.shape[0], linear.geometry
    drawn = np.arange(X.shape[0])
    if len(drawn) > kind.n_landmarks:
        drawn = np.sort(rng.choice(len(drawn), kind.n_landmarks, replace=False))
    landmarks = X[drawn]
    # In double precision, whatever the rows have: the root of the kernel magnifies rounding errors.
    rows, mean_row = X.astype(np.float64), views.mean.astype(np.float64)
    squared = squared_distances(rows[drawn], rows[drawn], mean_row)
    wanted = kind.rows, kind.directions
    gammas = [median_exponent(each, WIDEST) if used else 0.0 for each, used in zip(squared, wanted, strict=True)]
    root = inverse_root(kernel_values(rows[drawn], rows[drawn], mean_row, *gammas))
    if not root.size:  # all rows are equal
        root = np.zeros((len(drawn), 1))
    kernel = kernel_values(rows, rows[drawn], mean_row, *gammas)
    mean = kernel.mean(axis=0)
    coordinates = few_coordinates(kernel @ root, mean @ root, other.n_bits)
    values = coordinates.values
    more = values[n:]
    geometry = Geometry(
        values[:n], other.n_bits, other.seed, other.source, widths=other.widths, more=more, labels=other.labels
    )
    widths = () if other.source is None else (geometry.imputation.width,)

    def fitted(learned: Learned) -> Fitted:
        return {
            "projection_": root @ coordinates.back(learned.projection),
            "mean_": mean,
            "offset_": np.zeros(other.n_bits) if learned.offset is None else learned.offset,
            "landmarks_": landmarks,
            "centre_": views.mean,
            "gamma_": gammas[0],
            "unit_gamma_": gammas[1],
            **geometry.coded_source(learned),
        }

    folds = linear.folds
    if folds is not None:
        folds = folds.in_other_coordinates(values[folds.division.kept], more, widths)
    return Space(geometry, folds, fitted)


def affordable_landmarks(n_features: int, n_bits: int, max_encode_cost: float, most: int) -> int:
    """Number of landmarks with which a code costs at most ``max_encode_cost`` times a linear one, in products.

    Those are d c; with m landmarks they are m (d + c).

    >>> affordable_landmarks(128, 32, 10.0, 500)
    256
    """
    return min(most, int(max_encode_cost * n_features * n_bits / (n_features + n_bits)))


def fitted_on_these_rows(X: InMemory) -> bool:
    """Whether the columns look like principal components of these very rows: uncorrelated but for rounding.

    The axes were then turned towards these few rows, and new rows are shorter than they are. What depends on the length
    of a row, an offset or a kernel of distances, would take all new rows for rows of the core. Folds cannot show it.

    >>> from sklearn.decomposition import PCA
    >>> X = np.random.RandomState(0).standard_normal((60, 20))
    >>> fitted_on_these_rows(X), fitted_on_these_rows(PCA(10).fit_transform(X))
    (False, True)
    """
    n, d = X.shape
    if is_sparse(X) or not 2 <= d < n:
        return False
    rows = np.asarray(X, dtype=np.float64)
    return any(_diagonal(rows - middle) for middle in (rows.mean(axis=0), 0.0))


def _diagonal(rows: Array) -> bool:
    gram = rows.T @ rows
    scale = np.sqrt(np.maximum(gram.diagonal(), np.finfo(np.float64).tiny))
    return bool(np.abs(gram / scale[:, None] / scale - np.eye(len(gram))).max() < SAME_ROWS)
