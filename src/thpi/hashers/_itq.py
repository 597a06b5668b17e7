"""Iterative quantisation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from thpi._types import Fitted
from thpi.base import BaseHasher, Views, count, dimension_limit, parameter, weight
from thpi.codes import pack_signs
from thpi.hashers._geometry import Geometry, GeometryLearner, Learned, Limits
from thpi.solvers.moments import centred_product, principal_axes
from thpi.solvers.quantisation import QuantisationResult, iterative_quantisation
from thpi.solvers.slack_quantisation import SlackResult

Run = TypeVar("Run", QuantisationResult, SlackResult)


def restart_seeds(rng: np.random.RandomState, n_init: int) -> list[np.random.RandomState]:
    """One random stream per restart, drawn before anything else, so that ITQ, ITQ+ and LapITQ+ start alike."""
    return [np.random.RandomState(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=n_init)]


def best_run(runs: Iterable[Run]) -> Run:
    """The run of the lowest loss."""
    return min(runs, key=lambda run: run.objective[-1])


def evidence(run: QuantisationResult | SlackResult) -> Fitted:
    """What a fitted hasher keeps of the run that was taken."""
    return {"objective_": np.array(run.objective), "converged_": run.converged}


@dataclass(eq=False, repr=False, kw_only=True)
class ITQ(GeometryLearner, BaseHasher):
    """PCA to ``n_bits`` directions, then the rotation whose signs lose least (Gong and Lazebnik 2011).

    Minimises ``||B - X V R||_F^2`` (the paper's eq. 1) over codes ``B`` and rotations ``R``, where ``V`` holds the
    leading principal axes. The hash function is ``sgn((x - mean) V R)``. This is what a small target domain gets
    without a source: the reference for every method here.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, n_samples - 1)``.
    balanced : bool, default=False
        Keep every bit +1 on half of the training rows, as ITQ+ does.
    n_init : int, default=1
        Random restarts; the lowest loss wins.
    tol : float, default=1e-6
        Stop when an iteration lowers the loss by no more than this part of it.
    max_iter : int, default=150
        Cap on iterations.
    random_state : int, RandomState or None, default=None
        Seed of the starting rotations.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((100, 8))
    >>> itq = ITQ(n_bits=4, random_state=0).fit(X)
    >>> bool(np.all(np.diff(itq.objective_) <= 0))
    True
    """

    summary = "PCA, then the rotation whose signs lose least (Gong and Lazebnik 2011)"
    streams = True

    balanced: bool = parameter(False, "boolean")
    n_init: int = count(1)
    tol: float = weight(1e-6)
    max_iter: int = count(150)

    def _max_bits(self, views: Views) -> tuple[int, str]:
        return dimension_limit(views)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        V, _ = principal_axes(views.X, views.mean, self.n_bits)
        Z = centred_product(views.X, views.mean, V)
        if self.balanced and not isinstance(Z, np.ndarray):
            Z = Z.gather()  # half of all rows cannot be found block by block
        best = best_run(
            iterative_quantisation(Z, stream, balanced=self.balanced, tol=self.tol, max_iter=self.max_iter)
            for stream in restart_seeds(rng, self.n_init)
        )
        codes = {} if best.B is None else {"codes_": pack_signs(best.B)}  # else they are what transform gives
        return evidence(best) | codes | {"projection_": V @ best.R}

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        """See :class:`GeometryLearner`; every geometry has it computed."""
        return geometry.plain(start)
