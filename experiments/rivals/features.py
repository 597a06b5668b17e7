"""Features of rows: as they are or of unit length, linear or of a Gaussian kernel, always on their principal axes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

Floats = npt.NDArray[np.float64]

MOST_LANDMARKS = 500
_LEAST_SHARE = 1e-8
"""Axes with less than this share of the largest variance are noise of the arithmetic."""


class FeatureChoice(NamedTuple):
    """Which features: of rows scaled to unit length or not; ``width`` of the kernel, None for none."""

    unit: bool = False
    width: float | None = None


LINEAR = (FeatureChoice(), FeatureChoice(unit=True))
KERNEL = tuple(FeatureChoice(unit, width) for unit in (False, True) for width in (1.0, 0.3, 3.0))
FEATURES = LINEAR + KERNEL


class Features(NamedTuple):
    """Principal coordinates of rows that were learned from (``values``), and the map for others.

    The columns of ``values`` have mean 0, are orthogonal, and fall in variance. The variances sum to 1.
    """

    choice: FeatureChoice
    landmarks: Floats | None
    exponent: float
    mean: Floats
    axes: Floats
    values: Floats

    def __call__(self, rows: Any) -> Floats:
        """Return the features of rows."""
        scaled = _scaled(rows, self.choice.unit)
        if self.landmarks is not None:
            scaled = np.exp(-self.exponent * squared_distances(scaled, self.landmarks))
        return np.asarray((scaled - self.mean) @ self.axes)


def fit_features(rows: Any, choice: FeatureChoice, rng: np.random.RandomState, most: int | None = None) -> Features:
    """Learn features from rows; at most ``most`` of them, those of largest variance.

    The kernel is ``exp(-width ||a - b||^2 / m)``, m the median squared distance of the landmarks (Nystroem).

    >>> rows = np.random.RandomState(0).standard_normal((30, 4))
    >>> Z = fit_features(rows, FeatureChoice(width=1.0), np.random.RandomState(0)).values
    >>> bool(abs(Z.mean(axis=0)).max() < 1e-9), bool(abs(Z.var(axis=0).sum() - 1) < 1e-9)
    (True, True)
    """
    scaled = _scaled(rows, choice.unit)
    if choice.width is None:
        return _on_principal_axes(choice, None, 0.0, scaled, None, most)
    landmarks = scaled[np.sort(rng.permutation(len(scaled))[:MOST_LANDMARKS])]
    squared = squared_distances(landmarks, landmarks)
    others = squared[np.triu_indices(len(squared), 1)]
    median = float(np.median(others)) if others.size else 0.0
    exponent = choice.width / median if median > 0 else 0.0
    values, vectors = linalg.eigh(np.exp(-exponent * squared))
    kept = values > _LEAST_SHARE * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    kernel = np.exp(-exponent * squared_distances(scaled, landmarks))
    return _on_principal_axes(choice, landmarks, exponent, kernel, root, most)


def _on_principal_axes(
    choice: FeatureChoice,
    landmarks: Floats | None,
    exponent: float,
    rows: Floats,
    root: Floats | None,
    most: int | None,
) -> Features:
    """Centre ``rows @ root`` (root None: the identity) and turn it to its principal axes."""
    mean = rows.mean(axis=0)
    centred = rows - mean if root is None else (rows - mean) @ root
    n, d = centred.shape
    if d <= n:
        variances, axes = linalg.eigh(centred.T @ centred / n)
    else:  # the axes are combinations of the rows
        variances, combinations = linalg.eigh(centred @ centred.T / n)
        axes = centred.T @ (combinations / np.sqrt(n * np.maximum(variances, np.finfo(float).tiny)))
    kept = np.flatnonzero(variances > _LEAST_SHARE * max(variances[-1], 0.0))[::-1][:most]
    axes = axes[:, kept] / np.sqrt(max(variances[kept].sum(), np.finfo(float).tiny))
    return Features(choice, landmarks, exponent, mean, axes if root is None else root @ axes, centred @ axes)


def _scaled(rows: Any, unit: bool) -> Floats:
    dense = np.asarray(rows, dtype=np.float64)
    if not unit:
        return dense
    length = np.linalg.norm(dense, axis=1, keepdims=True)
    return np.asarray(dense / np.where(length > 0, length, 1.0))


def squared_distances(a: Floats, b: Floats) -> Floats:
    """Squared distances of all rows of a to all rows of b."""
    squares = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2 * (a @ b.T)
    return np.asarray(np.maximum(squares, 0.0))
