"""Ground of the methods that may have a source, labels, or target rows that have neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import _check_feature_names

from thpi._checks import check_rows, named_errors, some_rows
from thpi.base import BaseHasher, Views, Whole
from thpi.rows import as_rows

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OptionalSource", "class_indicators", "labels_of"]

Array = npt.NDArray[Any]

MAX_TARGET = 20_000


class OptionalSource(BaseHasher):
    """``privileged`` is checked like everywhere where it is given; ``y`` reaches ``_fit`` as ``self._labels``, and
    ``target`` as ``views.X_more``."""

    uses_source = True
    uses_target = True

    max_unpaired: int
    _labels: Any
    _target: Any

    def fit(self, X: Any, y: Any = None, *, privileged: Any = None, source: Any = None, target: Any = None) -> Self:
        """Learn hash functions for the target domain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Target rows.
        y : array-like of shape (n_samples,) or (n_samples, n_tags), optional
            Classes of the rows, or an indicator of their tags; ignored by methods that do not learn from classes.
        privileged : array-like or sparse matrix of shape (n_samples, n_source_features), optional
            Source rows paired with the rows of ``X``.
        source : array-like or sparse matrix of shape (any, n_source_features), or Whole, optional
            Source rows that have no target row; needs ``privileged``.
        target : array-like or sparse matrix of shape (any, n_features), or Whole, optional
            Further target rows, of which neither source nor class is known. They take part in whatever needs neither:
            mean, scatter, quantisation, neighbours and groups of the target. Of more than 20,000 as many are used,
            evenly spaced.

        Returns
        -------
        self
            Where anything is wrong, an error is raised and the estimator is as it was before.
        """
        given = {"_labels": y, "_target": target.array if isinstance(target, Whole) else target}
        self.__dict__.update(given)
        try:
            return super().fit(X, privileged=privileged, source=source)
        finally:
            for name in given:
                self.__dict__.pop(name, None)

    def _check_views(self, X: Any, privileged: Any, source: Any) -> Views:
        views = self._check_pairs(X, privileged, source)
        if self._target is None:
            return views
        if hasattr(self._target, "columns") and hasattr(self, "feature_names_in_"):
            named_errors("target", lambda: _check_feature_names(self, self._target, reset=False))
        # More say little more of means and directions, and every one is held in double precision.
        X_more = check_rows("target", some_rows(self._target, MAX_TARGET), views.X.dtype, min_rows=0)
        d = views.X.shape[1]
        if X_more.shape[1] != d:
            raise ValueError(f"target has {X_more.shape[1]} columns and X has {d}; both must have the same.")
        return Views(views.X, views.S, views.S_U, X_more)

    def _check_pairs(self, X: Any, privileged: Any, source: Any) -> Views:
        if privileged is None and not type(self).needs_privileged:
            if source is not None:
                raise ValueError("source needs privileged=...: without pairs nothing says what its rows are.")
            return super()._check_views(X, None, None)
        if isinstance(source, Whole):
            source = source.array
        if source is not None and as_rows(source) is not None:
            # No more are used; rows that are elsewhere need not all be brought here.
            source = some_rows(source, max(1, self.max_unpaired))
        self.__dict__["needs_privileged"] = True
        try:
            return super()._check_views(X, privileged, source)
        finally:
            del self.__dict__["needs_privileged"]


def labels_of(y: Any, n: int) -> Array:
    """Check labels: 1-D classes, or a 2-D indicator of tags made dense and boolean.

    >>> labels_of([[0, 2], [1, 0]], 2)
    array([[False,  True],
           [ True, False]])
    """
    labels = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if labels.ndim not in (1, 2) or labels.shape[0] != n:
        raise ValueError(
            f"y has shape {labels.shape}; it must have one class, or one row of tags, for each of {n} rows."
        )
    return labels if labels.ndim == 1 else np.asarray(labels != 0)


def class_indicators(labels: Array) -> Array:
    """One column a class or tag, divided by the root of its size so that every class weighs the same; centred.

    >>> class_indicators(np.array(["a", "b"])).round(2)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    if labels.ndim == 1:
        _, number = np.unique(labels, return_inverse=True)
        indicator = np.eye(int(number.max()) + 1)[number.ravel()]
    else:
        indicator = labels.astype(np.float64)
    weighed = indicator / np.sqrt(np.maximum(indicator.sum(axis=0), 1.0))
    return np.asarray(weighed - weighed.mean(axis=0))
