"""The rows that a method is fitted on, and how many bits they allow."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thpi.rows import Rows, Stacked
from thpi.solvers.moments import column_mean

__all__ = ["TooManyBitsError", "Views", "Whole", "dimension_limit", "pair_limit", "stacked"]


class TooManyBitsError(ValueError):
    """``n_bits`` is more than a method can give for these data."""


class Whole:
    """Mark ``source``, or ``target``, as not to be split by cross-validation.

    ``GridSearchCV`` and ``cross_validate`` split every fit argument that has as many rows as ``X`` and pass the
    others whole. The unpaired source rows are never to be split; where they happen to be as many as the target
    rows, scikit-learn cannot know that. ``source=Whole(S)`` is passed on untouched, whatever its length; so is
    ``target=Whole(X)``, target rows without a source.

    >>> Whole([[1.0, 2.0]]).array
    [[1.0, 2.0]]
    """

    def __init__(self, array: Any) -> None:
        self.array = array


class Views:
    """What a method gets to fit on: validated target rows with their mean, and the source rows, where it uses them.

    ``S`` are paired with ``X``; ``S_U`` are source rows without a target row, ``X_more`` target rows without a source.
    """

    def __init__(self, X: Any, S: Any = None, S_U: Any = None, X_more: Any = None) -> None:
        self.X, self.S, self.S_U, self.X_more = X, S, S_U, X_more
        self.mean = column_mean(self.all_target)

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
            return Stacked.of(self.S.toarray() if sparse.issparse(self.S) else self.S, self.S_U)
        return stacked(self.S, self.S_U)


def stacked(first: Any, second: Any) -> Any:
    """Rows of two matrices, dense or sparse, below each other; of an empty second one nothing is copied."""
    if second.shape[0] == 0:
        return first
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second], format="csr")
    return np.vstack([first, second])


def dimension_limit(views: Views) -> tuple[int, str]:
    """Limit of the methods that take one orthogonal direction a bit."""
    n, d = views.X.shape
    return max(1, min(d, n - 1)), f"the smaller of n_features={d} and n_samples - 1={n - 1}"


def pair_limit(views: Views) -> tuple[int, str]:
    """Limit of the methods that take one pair of canonical directions a bit."""
    n, d = views.X.shape
    d_S = views.S.n_columns if isinstance(views.S, Rows) else views.S.shape[1]
    return max(
        1, min(d, d_S, n - 1)
    ), f"the smallest of n_features={d}, privileged columns={d_S} and n_samples - 1={n - 1}"
