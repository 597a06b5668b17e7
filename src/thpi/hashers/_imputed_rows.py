"""Unpaired source rows that join the pairs, with target rows imputed for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array
from thpi.base import Views
from thpi.hashers._geometry import Geometry, target_coordinates
from thpi.hashers._source_features import SourceFeatures
from thpi.rows import Rows


class Joined(NamedTuple):
    """Real and imputed pairs, real ones first, the target in coordinates; the way back for a projection of them; and
    which of the unpaired source rows were drawn."""

    views: Views
    back: Callable[[Array], Array]
    drawn: Array


def join_imputed(views: Views, n_bits: int, most: int, rng: np.random.RandomState) -> Joined:
    """Join to the pairs at most ``most`` of the unpaired source rows, drawn at random, with imputed target rows.

    They are imputed as :class:`thpi.TransferITQ` does it: kernel ridge from source to target on the pairs, kernel and
    penalty by leave-one-out. Their mean is not taken off: new rows are cut where the real ones have theirs.

    >>> S = np.random.RandomState(0).standard_normal((60, 3))
    >>> X = S @ np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> joined = join_imputed(Views(X[:40], S[:40], S[40:]), n_bits=2, most=100, rng=np.random.RandomState(0))
    >>> joined.views.X.shape, joined.views.S.shape
    ((60, 2), (60, 3))
    >>> bool(np.allclose(joined.views.X, (X - X[:40].mean(axis=0)) @ joined.back(np.eye(2)), atol=1e-3))
    True
    """
    n = views.S_U.shape[0]
    drawn = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    some = Views(views.X, views.S, _taken(views.S_U, drawn).astype(views.S.dtype, copy=False))
    coordinates = target_coordinates(views.X, views.mean, n_bits)
    source = SourceFeatures(some, rng, most)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    geometry = Geometry(coordinates.values.astype(np.float64), n_bits, seed, source)
    joined = Views(np.vstack([geometry.X, geometry.imputed]), some.all_source)
    joined.mean = np.zeros(joined.X.shape[1])
    return Joined(joined, lambda projection: coordinates.back(projection.astype(views.X.dtype)), drawn)


def _taken(unpaired: Any, rows: Array) -> Any:
    return unpaired.take(rows) if isinstance(unpaired, Rows) else unpaired[rows]
