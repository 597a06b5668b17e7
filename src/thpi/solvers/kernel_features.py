"""Features whose inner products are a Gaussian kernel, from landmarks; no n x n matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

__all__ = ["KernelMap", "kernel_map", "kernel_root"]

Array = npt.NDArray[Any]


class KernelMap(NamedTuple):
    """Landmarks, the exponent ``width / median squared distance``, and the root of their inverse kernel matrix."""

    landmarks: Array
    exponent: float
    root: Array

    def __call__(self, rows: Array) -> Array:
        """Give the features of rows, one row each."""
        return _gauss(rows, self.landmarks, self.exponent) @ self.root


def kernel_map(landmarks: Array, width: float) -> KernelMap:
    """Nystroem features of ``k(a, b) = exp(-width ||a - b||^2 / m)``, m the median squared distance of landmarks.

    ``f(x) = K(x, L) K(L, L)^(-1/2)``, so that ``f(a)'f(b) = k(a, b)`` exactly where a or b is a landmark, and the best
    approximation from the span of the landmarks elsewhere.

    >>> rows = np.random.RandomState(0).standard_normal((6, 2))
    >>> f = kernel_map(rows, 1.0)(rows)
    >>> (f @ f.T).diagonal().round(6)
    array([1., 1., 1., 1., 1., 1.])
    """
    return KernelMap(landmarks, *kernel_root(_squared(landmarks, landmarks), width))


def kernel_root(squared: Array, width: float) -> tuple[float, Array]:
    """Exponent ``width / median`` and ``K^(-1/2)`` (less the directions without extent), by the squared distances of
    landmarks.

    >>> exponent, root = kernel_root(np.array([[0.0, 2.0], [2.0, 0.0]]), 1.0)
    >>> K = np.exp(-exponent * np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> exponent, bool(np.allclose(root.T @ K @ root, np.eye(2)))
    (0.5, True)
    """
    others = squared[~np.eye(len(squared), dtype=bool)]
    median = float(np.median(others)) if others.size else 0.0
    exponent = width / median if median > 0 else 0.0
    values, vectors = linalg.eigh(np.exp(-exponent * squared))
    kept = values > 1e-8 * values[-1]
    return exponent, vectors[:, kept] / np.sqrt(values[kept])


def _gauss(a: Array, b: Array, exponent: float) -> Array:
    kernel: Array = np.exp(-exponent * _squared(a, b))
    return kernel


def _squared(a: Array, b: Array) -> Array:
    squares = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2 * (a @ b.T)
    return np.asarray(np.maximum(squares, 0.0))
