"""The hash functions: from a row to one real number per bit, whose sign is the bit. They need numpy alone.

A method says which one it uses, and a model file holds its name: rows are coded in one way, with or without the method.

    linear          ``(x - mean_) projection_``
    offset          ``(x - mean_) projection_ - offset_``
    eigenfunction   ``cos(((x - mean_) projection_ - lower_) frequency_)``
    kernel          ``(k(x) - mean_) projection_``, ``k(x) = exp(-gamma_ ||u - v||^2)`` for each of ``landmarks_``;
                    u and v are the row and the landmark less ``centre_``, scaled to length 1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thpi._types import Array, InMemory, is_sparse
from thpi.solvers.blocks import centred_product

__all__ = ["EIGENFUNCTION", "HASH_FUNCTIONS", "HashFunction", "KERNEL", "LINEAR", "OFFSET", "cosines", "kernel_values"]


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
    return centred_product(X, fitted["mean_"], fitted["projection_"])


def _offset(X: Any, fitted: Mapping[str, Any]) -> Array:
    return np.asarray(_linear(X, fitted) - fitted["offset_"])


def _eigenfunction(X: Any, fitted: Mapping[str, Any]) -> Array:
    return np.asarray(np.cos((_linear(X, fitted) - fitted["lower_"]) * fitted["frequency_"]))


def _kernel(X: Any, fitted: Mapping[str, Any]) -> Array:
    return _linear(kernel_values(X, fitted["landmarks_"], fitted["centre_"], fitted["gamma_"]), fitted)


def kernel_values(X: InMemory, landmarks: InMemory, centre: Array, gamma: float) -> Array:
    """``exp(-gamma ||x - l||^2)`` of rows and landmarks, centred and scaled to length 1.

    Their squared distance is 2 less twice their cosine.

    >>> kernel_values(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2), 0.5).round(3)
    array([[1.   , 0.135]])
    """
    return np.asarray(np.exp(2 * gamma * (cosines(X, landmarks, centre) - 1)), dtype=X.dtype)


def cosines(X: InMemory, landmarks: InMemory, centre: Array) -> Array:
    """Cosines of centred rows and centred landmarks; sparse ones are not made dense."""
    if is_sparse(X) or is_sparse(landmarks):
        both = float(centre @ centre)
        along, beside = (np.asarray(rows @ centre) for rows in (X, landmarks))
        products: Any = X @ landmarks.T
        products = (products.toarray() if is_sparse(products) else products) - along[:, None] - beside + both
        squares = (_squared_norms(rows) - 2 * dot + both for rows, dot in ((X, along), (landmarks, beside)))
    else:
        rows, others = np.asarray(X) - centre, np.asarray(landmarks) - centre
        products, squares = rows @ others.T, (_squared_norms(each) for each in (rows, others))
    lengths = [np.maximum(np.sqrt(np.maximum(square, 0.0)), np.finfo(X.dtype).tiny) for square in squares]
    return np.asarray(products / lengths[0][:, None] / lengths[1])


def _squared_norms(rows: InMemory) -> Array:
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    dense = np.asarray(rows)
    return np.asarray(np.einsum("ij,ij->i", dense, dense))


_PLANES = {"mean_": "d", "projection_": "dc"}
LINEAR = HashFunction("linear", _linear, _PLANES)
OFFSET = HashFunction("offset", _offset, _PLANES | {"offset_": "c"})
EIGENFUNCTION = HashFunction("eigenfunction", _eigenfunction, _PLANES | {"frequency_": "c", "lower_": "c"})
KERNEL = HashFunction(
    "kernel", _kernel, {"landmarks_": "md", "centre_": "d", "mean_": "m", "projection_": "mc", "gamma_": ""}
)
HASH_FUNCTIONS = {function.name: function for function in (LINEAR, OFFSET, EIGENFUNCTION, KERNEL)}
"""The hash functions by the names they have in model files."""
