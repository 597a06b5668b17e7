"""Spectral hashing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thpi._types import Fitted
from thpi.base import BaseHasher, Views
from thpi.hash_functions import EIGENFUNCTION, HashFunction
from thpi.solvers.blocks import reduce_blocks
from thpi.solvers.moments import centred_product, principal_axes


@dataclass(eq=False, repr=False, kw_only=True)
class SpectralHashing(BaseHasher):
    """Thresholded eigenfunctions of the Laplacian along principal directions (Weiss, Torralba and Fergus 2008).

    The data are taken to be uniform on a box along their principal axes. On an axis of range ``[a, b]`` the one-
    dimensional Laplacian has the eigenfunctions and, up to a common monotone map, the eigenvalues

        ``phi_m(x) = sin(pi/2 + m pi (x - a) / (b - a))``,   ``(m pi / (b - a))^2``,   ``m = 1, 2, ...``

    The ``n_bits`` smallest over all axes are kept, and bit ``k`` is the sign of its eigenfunction. Being a function
    of ``x``, it codes new rows directly. An axis gives one bit per frequency, so there is no limit to ``n_bits``.

    Attributes
    ----------
    projection_, frequency_, lower_ : arrays of shape (n_features, n_bits), (n_bits,) and (n_bits,)
        The principal axis, ``m pi / (b - a)``, and ``a`` of each bit.

    Examples
    --------
    >>> X = np.random.RandomState(0).uniform(size=(200, 2)) * [10, 1]
    >>> hasher = SpectralHashing(n_bits=3).fit(X)
    >>> bool(np.allclose(np.abs(hasher.projection_[0]).round(1), 1))  # all three bits cut the long side
    True
    """

    summary = "thresholded Laplacian eigenfunctions along principal axes (Weiss et al. 2008)"
    hash_parts = (*BaseHasher.hash_parts, "frequency_", "lower_")
    streams = True

    frequency_: Any = field(init=False)
    lower_: Any = field(init=False)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        d = views.X.shape[1]
        V, _ = principal_axes(views.X, views.mean, min(self.n_bits, d))
        Z = centred_product(views.X, views.mean, V)
        (lower,) = reduce_blocks(_least, Z, combine=np.minimum)
        (upper,) = reduce_blocks(_largest, Z, combine=np.maximum)
        extent = upper - lower
        # An axis without extent has no low frequency; infinity keeps it last.
        with np.errstate(divide="ignore"):
            base = np.where(extent > 1e-9 * max(extent.max(), 1e-300), np.pi / extent, np.inf)
        modes = np.arange(1, self.n_bits + 1)
        frequency = base[:, None] * modes
        order = np.argsort(frequency, axis=None, kind="stable")[: self.n_bits]
        axis = order // self.n_bits
        chosen = frequency.ravel()[order]
        return {
            "projection_": np.ascontiguousarray(V[:, axis]),
            "frequency_": np.where(np.isfinite(chosen), chosen, 0.0),
            "lower_": lower[axis],
        }

    @property
    def _hash_function(self) -> HashFunction:
        return EIGENFUNCTION  # sin(pi/2 + t) = cos(t)


def _least(block: Any) -> tuple[Any]:
    return (block.min(axis=0),)


def _largest(block: Any) -> tuple[Any]:
    return (block.max(axis=0),)
