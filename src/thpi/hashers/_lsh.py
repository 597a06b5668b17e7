"""Locality-sensitive hashing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thpi._types import Fitted
from thpi.base import BaseHasher, Views


@dataclass(eq=False, repr=False, kw_only=True)
class LSH(BaseHasher):
    """Gaussian random projections of centred data: ``h_k(x) = sgn(r_k'(x - mean))``, ``r_k ~ N(0, I)``.

    Two rows at angle ``t`` differ in a bit with probability ``t / pi`` (Charikar 2002; Andoni and Indyk 2006). It
    learns nothing but the mean, and draws every bit by itself. More bits than columns estimate the angle better, so
    there is no limit to ``n_bits``. It is the line that every learned method must beat.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((100, 8))
    >>> LSH(n_bits=12, random_state=0).fit(X).transform(X).shape
    (100, 2)
    """

    summary = "Gaussian random projections of centred data"
    streams = True

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        return {"projection_": rng.standard_normal((views.X.shape[1], self.n_bits))}
