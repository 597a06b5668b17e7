"""The hash functions: from a row to one real number per bit, whose sign is the bit. They need numpy alone.

A method says which one it uses, and a model file holds its name: rows are coded in one way, with or without the method.

    linear          ``(x - mean_) projection_``
    offset          ``(x - mean_) projection_ - offset_``
    eigenfunction   ``cos(((x - mean_) projection_ - lower_) frequency_)``
    kernel          ``(k(x) - mean_) projection_ - offset_``, k(x) with one number per landmark

``k(x)`` is the mean of ``e + e^3 + e^9`` over two kinds of ``e``: ``exp(-gamma_ ||x - l||^2)``, and
``exp(-unit_gamma_ ||u - v||^2)`` where u and v are the row and the landmark less ``centre_``, scaled to length 1. Three
widths at once need no choice between them, and cost one exponential. An exponent of 0 leaves its kind out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thpi._types import Array, InMemory, is_sparse

__all__ = ["EIGENFUNCTION", "HASH_FUNCTIONS", "HashFunction", "KERNEL", "LINEAR", "OFFSET", "ITEM_PARTS"]
__all__ += ["hash_function_of", "kernel_values", "squared_distances"]


ONE_BLOCK = 2**20
"""Dense rows of up to this many bytes are one block of :func:`thpi.solvers.blocks.row_blocks`, and coded directly."""


@dataclass(frozen=True)
class HashFunction:
    """Name, ``project(X, fitted)``, and the fitted attributes it reads: a letter for each axis (features d, bits c)."""

    name: str
    project: Callable[[Any, Mapping[str, Any]], Array]
    shapes: Mapping[str, str]

    def check(self, fitted: Mapping[str, Any], n_features: int, n_bits: int) -> None:
        """Raise ``ValueError`` unless the attributes fit each other.

        >>> LINEAR.check({"mean_": np.zeros(3), "projection_": np.zeros((3, 8))}, 3, 8)
        """
        found = {name: np.shape(fitted[name]) for name in self.shapes}
        sizes = {"d": n_features, "c": n_bits}
        for name, axes in self.shapes.items():
            shape = found[name]
            # A letter that is not known yet, the number of landmarks, is what the first attribute says.
            if len(shape) != len(axes) or any(sizes.setdefault(a, n) != n for a, n in zip(axes, shape, strict=True)):
                raise ValueError(f"the shapes {found} do not fit ({n_features}, {n_bits})")


def _linear(X: Any, fitted: Mapping[str, Any]) -> Array:
    mean, W = fitted["mean_"], fitted["projection_"]
    if type(X) is np.ndarray and X.nbytes <= ONE_BLOCK:
        out = np.empty((X.shape[0], W.shape[1]), dtype=X.dtype)
        return np.matmul(X - mean, W.astype(X.dtype, copy=False), out=out)
    from thpi.solvers.blocks import centred_product

    return centred_product(X, mean, W)


def _offset(X: Any, fitted: Mapping[str, Any]) -> Array:
    return np.asarray(_linear(X, fitted) - fitted["offset_"])


def _eigenfunction(X: Any, fitted: Mapping[str, Any]) -> Array:
    return np.asarray(np.cos((_linear(X, fitted) - fitted["lower_"]) * fitted["frequency_"]))


def _kernel(X: Any, fitted: Mapping[str, Any]) -> Array:
    exponents = fitted["gamma_"], fitted["unit_gamma_"]
    return _offset(kernel_values(X, fitted["landmarks_"], fitted["centre_"], *exponents), fitted)


def kernel_values(X: InMemory, landmarks: InMemory, centre: Array, gamma: float, unit_gamma: float) -> Array:
    """Kernels of rows and landmarks; see the head of this file.

    >>> rows, landmarks = np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> kernel_values(rows, landmarks, np.zeros(2), 0.0, 0.5).round(3)  # unit: distances 0 and 2
    array([[1.   , 0.046]])
    >>> kernel_values(rows, landmarks, np.zeros(2), 0.5, 0.5).round(3)
    array([[0.64 , 0.025]])
    """
    squared = squared_distances(X, landmarks, centre)
    kinds = [_three_widths(values, g) for values, g in zip(squared, (gamma, unit_gamma), strict=True) if g > 0]
    if not kinds:  # all landmarks are equal
        return np.zeros((X.shape[0], landmarks.shape[0]), dtype=X.dtype)
    return np.asarray(sum(kinds) / (3 * len(kinds)), dtype=X.dtype)


def _three_widths(squared: Array, exponent: float) -> Array:
    wide = np.exp(-exponent * squared)
    middle = wide * wide * wide
    return np.asarray(wide + middle + middle * middle * middle)


def squared_distances(X: InMemory, landmarks: InMemory, centre: Array) -> tuple[Array, Array]:
    """Squared distances of rows and landmarks, as they are and centred and scaled to length 1.

    Sparse rows are not made dense.
    """
    if is_sparse(X) or is_sparse(landmarks):
        both = float(centre @ centre)
        along, beside = (np.asarray(rows @ centre) for rows in (X, landmarks))
        products: Any = X @ landmarks.T
        products = (products.toarray() if is_sparse(products) else products) - along[:, None] - beside + both
        squares = [_squared_norms(rows) - 2 * dot + both for rows, dot in ((X, along), (landmarks, beside))]
    else:
        rows, others = np.asarray(X) - centre, np.asarray(landmarks) - centre
        products, squares = rows @ others.T, [_squared_norms(each) for each in (rows, others)]
    squares = [np.maximum(square, 0.0) for square in squares]
    raw = squares[0][:, None] + squares[1] - 2 * products
    lengths = [np.maximum(np.sqrt(square), np.finfo(X.dtype).tiny) for square in squares]
    unit = 2 - 2 * (products / lengths[0][:, None] / lengths[1])
    return np.maximum(raw, 0.0), np.maximum(unit, 0.0)


def _squared_norms(rows: InMemory) -> Array:
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    dense = np.asarray(rows)
    return np.asarray(np.einsum("ij,ij->i", dense, dense))


_PLANES = {"mean_": "d", "projection_": "dc"}
LINEAR = HashFunction("linear", _linear, _PLANES)
OFFSET = HashFunction("offset", _offset, _PLANES | {"offset_": "c"})
EIGENFUNCTION = HashFunction("eigenfunction", _eigenfunction, _PLANES | {"frequency_": "c", "lower_": "c"})
_LANDMARKS = {"landmarks_": "md", "centre_": "d", "gamma_": "", "unit_gamma_": ""}
KERNEL = HashFunction("kernel", _kernel, _LANDMARKS | {"mean_": "m", "projection_": "mc", "offset_": "c"})
ITEM_PARTS = ("item_mean_", "item_projection_")
"""Fitted attributes of a two-sided model by which it codes source rows: mean and projection of a linear function."""
HASH_FUNCTIONS = {function.name: function for function in (LINEAR, OFFSET, EIGENFUNCTION, KERNEL)}
"""The hash functions by the names they have in model files."""


def hash_function_of(fitted: Mapping[str, Any]) -> HashFunction:
    """The kernel if there are landmarks, else planes, with an offset if there is one.

    >>> hash_function_of({"mean_": 0, "projection_": 0, "offset_": 0}).name
    'offset'
    """
    return KERNEL if "landmarks_" in fitted else OFFSET if "offset_" in fitted else LINEAR
