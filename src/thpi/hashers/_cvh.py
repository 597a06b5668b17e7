"""Cross-view hashing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thpi._types import Fitted
from thpi.base import BaseHasher, Views, dimension_limit, one_of, pair_limit, weight
from thpi.hashers._cca_itq import canonical_directions


@dataclass(eq=False, repr=False, kw_only=True)
class CVH(BaseHasher):
    """Cross-view hashing on the pairs (Kumar and Udupa 2011).

    CVH maps similar items to similar codes across views: a spectral relaxation that, for two views with one-to-one
    pairs and no further similarities, is the CCA eigenproblem ``Cxy Cyy^-1 Cyx w = rho^2 Cxx w``. Bit ``k`` is the
    sign of the ``k``-th canonical variate, ``sgn((x - mean) w_k)``. With the default ridge the variates are in effect
    those of partial least squares (see ``ridge``); the published method is the one with a small ridge.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, privileged columns, n_samples - 1)``, unless ``fill="pca"``.
    ridge : float, default=10.0
        Ridge added to both covariances, relative to the mean variance of a direction. 0.1 is CCA. A large ridge, such
        as the default, is in effect partial least squares: the directions span nearly what the leading singular
        vectors of ``(X - mean)' S`` span. With few pairs the covariances are poorly known, and retrieval gains much by
        not dividing by them (experiments/notes/defaults.md).
    fill : {"error", "pca"}, default="error"
        What to do if ``n_bits`` is more than the number k of canonical pairs. "error" raises. With "pca" the bits
        beyond k are the signs along the leading principal axes of the residual, the target rows projected off the k
        canonical directions, up to ``min(n_features, n_samples - 1)`` bits. Pairs whose correlation is 0 but for
        rounding are not counted in k.
    random_state : ignored
        The method is not random; accepted so that all methods can be built alike.

    Attributes
    ----------
    correlations_ : array of shape (n_pairs,)
        Regularised canonical correlations, one per bit; ``n_pairs`` is ``n_bits``, or k if bits were filled.
    source_projection_ : array of shape (n_source_features, n_pairs)
        Hash functions of the source view: the first ``n_pairs`` bits of both views are comparable.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((100, 6)); X = S @ rng.standard_normal((6, 8))
    >>> CVH(n_bits=4, ridge=0.1).fit(X, privileged=S).correlations_.round(1)
    array([0.9, 0.9, 0.9, 0.9])
    """

    summary = "signs of the canonical variates of the pairs (Kumar and Udupa 2011)"
    needs_privileged = True
    streams = True

    ridge: float = weight(10.0)
    fill: str = one_of("error", "pca")

    def _max_bits(self, views: Views) -> tuple[int, str]:
        return dimension_limit(views) if self.fill == "pca" else pair_limit(views)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        cca, _ = canonical_directions(views, self.n_bits, self.ridge, self.fill)
        return {
            "projection_": cca.x_directions,
            "source_projection_": cca.y_directions,
            "correlations_": cca.correlations,
        }
