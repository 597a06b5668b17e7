"""The rows that a method learns from, and how many bits they allow."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy import sparse

from thpi._types import Array, InMemory, Ints, MatrixLike
from thpi.rows import Rows
from thpi.solvers.moments import column_mean


class TooManyBitsError(ValueError):
    """``n_bits`` is more than a method can give for these data."""


class Whole:
    """Mark ``source`` or ``target`` as rows that cross-validation must not split.

    ``GridSearchCV`` and ``cross_validate`` split every fit argument that has as many rows as ``X`` and pass the
    others on unchanged. Unpaired rows must never be split. If there happen to be as many of them as there are rows
    in ``X``, scikit-learn cannot know that: ``source=Whole(S)`` and ``target=Whole(X)`` are passed on unchanged,
    whatever their length.

    >>> Whole([[1.0, 2.0]]).array
    [[1.0, 2.0]]
    """

    def __init__(self, array: MatrixLike) -> None:
        self.array = array


class Views:
    """The validated rows that a method learns from.

    ``X`` are the target rows and ``y`` their labels, ``S`` the source rows paired with them, ``S_U`` source rows
    without a target row, and ``X_more`` target rows without a source. All but ``X`` may be None. ``mean`` is the mean
    of all target rows.
    """

    def __init__(
        self, X: Any, S: Any = None, S_U: Any = None, X_more: InMemory | None = None, y: Array | None = None
    ) -> None:
        self.X, self.S, self.S_U, self.X_more, self.y = X, S, S_U, X_more, y
        self.mean = column_mean(self.all_target)

    def take(self, rows: Ints) -> Views:
        """Some of the pairs, and all unpaired rows."""
        y = None if self.y is None else self.y[rows]
        return Views(self.X[rows], None if self.S is None else self.S[rows], self.S_U, self.X_more, y)

    def with_source(self, more: InMemory) -> Views:
        """The same with further unpaired source rows."""
        S_U = more if self.S_U is None else stacked(self.S_U, more)
        return Views(self.X, self.S, S_U, self.X_more, self.y)

    def without_labels(self) -> Views:
        """The same without labels."""
        return self if self.y is None else Views(self.X, self.S, self.S_U, self.X_more)

    @cached_property
    def all_target(self) -> Any:
        """Paired target rows first, unpaired ones after them."""
        return self.X if self.X_more is None else stacked(self.X, self.X_more)

    @property
    def all_source(self) -> Any:
        """Paired source rows first, unpaired ones after them: X_S of the paper."""
        if self.S_U is None:
            return self.S
        if isinstance(self.S_U, Rows):
            # Rows that are read in blocks are dense.
            return self.S_U.below(self.S.toarray() if sparse.issparse(self.S) else self.S)
        return stacked(self.S, self.S_U)


def stacked(first: InMemory, second: InMemory) -> Any:
    """Stack the rows of two matrices, dense or sparse; if the second is empty, return the first without a copy."""
    if second.shape[0] == 0:
        return first
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second], format="csr")
    return np.vstack([cast("Array", first), cast("Array", second)])


def check_labels(y: Any, n: int) -> Array:
    """Check labels: 1-D classes, or a 2-D indicator of tags, which becomes dense and boolean.

    >>> check_labels([[0, 2], [1, 0]], 2)
    array([[False,  True],
           [ True, False]])
    """
    labels = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if labels.ndim not in (1, 2) or labels.shape[0] != n:
        raise ValueError(
            f"y has shape {labels.shape}; it must have one class, or one row of tags, for each of {n} rows."
        )
    return labels if labels.ndim == 1 else np.asarray(labels != 0)


def dimension_limit(views: Views) -> tuple[int, str]:
    """Limit of the methods that take one orthogonal direction per bit."""
    n, d = views.X.shape
    return max(1, min(d, n - 1)), f"the smaller of n_features={d} and n_samples - 1={n - 1}"


def pair_limit(views: Views) -> tuple[int, str]:
    """Limit of the methods that take one pair of canonical directions per bit."""
    n, d = views.X.shape
    d_S = views.S.n_columns if isinstance(views.S, Rows) else views.S.shape[1]
    reason = f"the smallest of n_features={d}, privileged columns={d_S} and n_samples - 1={n - 1}"
    return max(1, min(d, d_S, n - 1)), reason
