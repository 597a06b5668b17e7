"""Features whose inner products are a Gaussian kernel, from landmarks; no n x n matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from thpi._types import Array

__all__ = ["inverse_root", "kernel_map", "median_exponent"]


def kernel_map(landmarks: Array, width: float) -> Callable[[Array], Array]:
    """Return Nystroem features f of ``k(a, b) = exp(-width ||a - b||^2 / m)``, m the median squared distance.

    ``f(x) = K(x, L) K(L, L)^(-1/2)``, so ``f(a)'f(b) = k(a, b)`` exactly if a or b is a landmark.

    >>> rows = np.random.RandomState(0).standard_normal((6, 2))
    >>> f = kernel_map(rows, 1.0)(rows)
    >>> (f @ f.T).diagonal().round(6)
    array([1., 1., 1., 1., 1., 1.])
    """
    squared = _squared(landmarks, landmarks)
    exponent = median_exponent(squared, width)
    root = inverse_root(np.exp(-exponent * squared))
    return lambda rows: np.exp(-exponent * _squared(rows, landmarks)) @ root


def median_exponent(squared: Array, width: float) -> float:
    """``width`` over the median squared distance of different landmarks; 0 if that is 0."""
    others = squared[~np.eye(len(squared), dtype=bool)]
    median = float(np.median(others)) if others.size else 0.0
    return width / median if median > 0 else 0.0


def inverse_root(kernel: Array) -> Array:
    """``K^(-1/2)`` of a kernel matrix, but for a rotation, without directions below 1e-8 of the largest eigenvalue."""
    values, vectors = linalg.eigh((kernel + kernel.T) / 2)
    kept = values > 1e-8 * max(float(values[-1]), np.finfo(np.float64).tiny)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _squared(a: Array, b: Array) -> Array:
    squares = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2 * (a @ b.T)
    return np.asarray(np.maximum(squares, 0.0))
