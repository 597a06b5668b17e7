"""NeighbourHash: codes whose neighbours are those of another space."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from thpi._types import Array, Fitted
from thpi.base import Views, count, one_of, parameter, weight
from thpi.hashers._geometry import (
    Geometry,
    Learned,
    Limits,
    Steps,
)
from thpi.hashers._itq import GeometryHasher
from thpi.hashers._source_features import SOURCE_FEATURES
from thpi.hashers._transfer_itq import IMPUTED_PER_PAIR, transferred
from thpi.solvers.neighbour_embedding import neighbour_embedding, neighbour_probabilities


@dataclass(eq=False, repr=False, kw_only=True)
class NeighbourHash(GeometryHasher):
    """Linear hash functions whose codes keep the neighbours of the rows: stochastic neighbour embedding.

    With ``h_i = tanh(P'x_i)`` in place of codes it minimises over P and t

    ``1/n sum_i KL(A_i || Q_i) + start_penalty/c tr((P - P_0)' (C + r I) (P - P_0))``,

    where ``A_ij``, proportional to ``exp(-||z_i - z_j||^2 / w)``, is the probability that j is a neighbour of i, and
    ``Q_ij``, proportional to ``exp(t h_i'h_j)``, is the same by the codes. For ``space="target"`` z are the target rows
    themselves. For ``space="source"`` they are the source rows, of pairs and of unpaired items; target rows of the
    latter are imputed as in :class:`TransferITQ`. The penalty on the distance from ``P_0``, the projection of ITQ or,
    with a source, of :class:`TransferITQ`, keeps a few rows from deciding too much (C and r: see
    :func:`thpi.solvers.neighbour_embedding`). Target rows without a source take part for ``space="target"`` and in P_0.

    Parameters
    ----------
    space : {"target", "source"}, default="target"
        The space whose neighbours are kept; "source" needs ``privileged``.
    start_penalty : float, default=0.3
        Weight of the distance from the start. 0.1 suits a thousand rows; 1 is cautious.
    perplexity : float, default=0.3
        Effective number of neighbours, as a share of the rows.
    source_weight, source_features, imputed_weight, shrinkage
        Of the :class:`TransferITQ` where it starts if there is a source. 0.05 and "linear" suit neighbours in target
        space, 8 and "rbf" neighbours in source space.
    max_rows, max_unpaired : int, default=1000 and 3000
        Uses at most this many rows, and unpaired source rows, drawn at random. Work and memory grow with ``max_rows``
        squared.
    tol, max_iter, random_state
        As for :class:`ITQ`.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((80, 10)) * np.linspace(1, 3, 10)
    >>> hasher = NeighbourHash(n_bits=8, random_state=0).fit(X)
    >>> hasher.transform(X).shape, bool(np.all(np.diff(hasher.objective_) <= 0))
    ((80, 1), True)
    """

    summary = "stochastic neighbour embedding: codes keep the nearest neighbours of target or source space"

    space: Literal["target", "source"] = one_of("target", "source")
    start_penalty: float = weight(0.3)
    offsets: bool = parameter(False, "boolean")
    perplexity: float = parameter(0.3, Interval(Real, 0, 1, closed="neither"))
    source_weight: float = weight(0.05)
    source_features: Literal["rbf", "linear", "codes", "diffusion", "mixed"] = one_of("linear", *SOURCE_FEATURES)
    imputed_weight: float = weight(0.3)
    shrinkage: float = weight(1.0, closed="neither")
    max_rows: int = count(1000, least=2)
    tol: float = weight(1e-5)
    max_iter: int = count(30)

    @property
    def _limits(self) -> Limits:
        return Limits(embedding=Steps(self.tol, self.max_iter), embedding_rows=self.max_rows)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        if self.space == "source" and views.S is None:
            raise ValueError("space='source' needs privileged=..., the space whose neighbours are to be kept.")
        return super()._fit(views, rng)

    def learn_start(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        """ITQ or, with a source, TransferITQ."""
        if geometry.source is None:
            return geometry.plain(start)
        weights = self.source_features, self.source_weight, self.imputed_weight, self.shrinkage
        return geometry.once(transferred, weights, start, limits.quantisation)

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        begin = self.learn_start(geometry, start, limits).projection
        rows, A = geometry.once(_neighbours, self.space, self.perplexity, limits.embedding_rows)
        if len(rows) < 2:
            return Learned(begin, (0.0,))
        tol, max_iter = limits.embedding
        found = neighbour_embedding(
            rows, begin, A, start_penalty=self.start_penalty, offsets=self.offsets, tol=tol, max_iter=max_iter
        )
        offset = found.offset if self.offsets else None
        return Learned(found.projection, tuple(found.objective), found.converged, offset=offset)


def _neighbours(geometry: Geometry, space: str, perplexity: float, max_rows: int) -> tuple[Array, Array]:
    """Target rows, real and for source space imputed, and the probabilities of their neighbours."""
    rng = np.random.RandomState(geometry.seed)
    if space == "target":
        rows = points = geometry.real[_drawn(rng, len(geometry.real), max_rows)]
    else:
        n, linear = len(geometry.X), geometry.known_source.linear
        some = _drawn(rng, n, max_rows)
        others = _drawn(rng, len(geometry.imputed), min(max_rows - len(some), IMPUTED_PER_PAIR * n))
        rows = np.vstack([geometry.X[some], geometry.imputed[others]])
        points = np.vstack([linear[geometry.rows[some]], linear[geometry.unpaired][others]])
    if len(rows) < 2:
        return rows, np.zeros((len(rows), len(rows)))
    return rows, neighbour_probabilities(points, perplexity)


def _drawn(rng: np.random.RandomState, n: int, most: int) -> Array:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
