"""CCA, then iterative quantisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thpi._types import Fitted
from thpi.base import Views, count, weight
from thpi.hashers._cvh import CVH, canonical_directions
from thpi.hashers._itq import best_run, evidence, restart_seeds
from thpi.rows import Rows
from thpi.solvers.quantisation import iterative_quantisation


@dataclass(eq=False, repr=False, kw_only=True)
class CCAITQ(CVH):
    """Canonical directions of target and paired source, scaled by correlation, then ITQ (Gong and Lazebnik 2011).

    With the ridge CCA directions ``W`` and correlations ``rho`` of the pairs, minimises
    ``||B - X W diag(rho) R||_F^2`` over codes and rotations. The hash function is ``sgn((x - mean) W diag(rho) R)``.
    With the default ridge it is in effect PLS-ITQ (see ``ridge``); the published method is the one with a small ridge.

    Parameters
    ----------
    n_bits, ridge : int, float
        As for :class:`CVH`.
    fill : {"error", "pca"}, default="error"
        As for :class:`CVH`. With "pca" the directions that are appended to ``W`` have the length of the canonical ones,
        ``v'(Cxx + rx I)v = 1`` (see :func:`thpi.solvers.cca.ridge_cca`), and the weight of the last of them, ``rho_k``:
        the source says nothing about them, so they weigh no more than what it says least about.
    n_init, tol, max_iter, random_state
        As for :class:`ITQ`.

    Attributes
    ----------
    correlations_, source_projection_
        As for :class:`CVH`.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((100, 6)); X = S @ rng.standard_normal((6, 8))
    >>> CCAITQ(n_bits=4, random_state=0).fit(X, privileged=S).transform(X).shape
    (100, 1)
    """

    summary = "canonical directions scaled by correlation, then ITQ"

    n_init: int = count(1)
    tol: float = weight(1e-6)
    max_iter: int = count(150)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        cca, variates = canonical_directions(views, self.n_bits, self.ridge, self.fill)
        rho = cca.correlations
        weights = np.pad(rho, (0, self.n_bits - len(rho)), constant_values=rho.min(initial=1))
        if isinstance(variates, Rows):
            Z: Any = variates.project(np.zeros(self.n_bits, variates.dtype), np.diag(weights))
        else:
            Z = variates * weights
        run = best_run(
            iterative_quantisation(Z, stream, tol=self.tol, max_iter=self.max_iter)
            for stream in restart_seeds(rng, self.n_init)
        )
        return {
            **evidence(run),
            "projection_": (cca.x_directions * weights) @ run.R,
            "source_projection_": cca.y_directions,
            "correlations_": cca.correlations,
        }
