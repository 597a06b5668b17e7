"""KernelAutoHasher: AutoHasher that also tries kernel hash functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from thpi._params import count, positive
from thpi._types import Array, Fitted, InMemory
from thpi.auto._auto import AutoHasher
from thpi.auto._trial import Space, Trial
from thpi.base import Views
from thpi.hash_functions import KERNEL, LINEAR, HashFunction, cosines, kernel_values
from thpi.hashers._geometry import Geometry, target_coordinates
from thpi.solvers.kernel_features import kernel_root


@dataclass(eq=False, repr=False, kw_only=True)
class KernelAutoHasher(AutoHasher):
    """AutoHasher that also tries kernel hash functions: linear in kernel features of a row, not in the row.

    With landmarks ``l_1 .. l_m``, target rows drawn at random, and ``k(x) = (exp(-g ||x - l_j||^2))_j``, where x and
    l_j are centred and scaled to length 1, the hash function is ``sgn((k(x) - mean) P)``. Its boundaries are curved.
    Like those of a linear hash function they do not depend on the length of the centred row: if the columns were chosen
    to suit a few rows, as by principal components, new rows are shorter than these, and without the scaling they would
    all look alike. g is ``gamma`` over the median squared distance of landmarks.

    For target relevance no kernels are tried, and the result is that of :class:`AutoHasher`. For the others every
    candidate but the paper's methods is tried twice, on the rows and on the features ``k(x) K^(-1/2)``, K the kernel
    matrix of the landmarks, whose inner products are the kernel. Folds, ground truth and thresholds are the same, and
    of equals the linear one is taken. :attr:`is_kernel_` says which kind was chosen.

    Fitting takes about twice the time and n x m memory; a code costs m products of d numbers and c of m.

    Parameters
    ----------
    n_bits, relevance, use_source, n_folds, n_standard_errors, max_pairs, max_unpaired, n_starts, n_jobs, random_state
        As for :class:`AutoHasher`.
    gamma : float, default=1.0
        Exponent of the kernel, in units of one over the median squared distance; larger is more local.
    n_landmarks : int, default=500
        Uses at most this many landmarks, drawn at random.

    Attributes
    ----------
    is_kernel_ : bool
        Whether the hash function is one of kernel features. Then there are ``landmarks_``, ``centre_`` (the mean of the
        target rows) and ``gamma_`` (g), and ``mean_`` and ``projection_`` have one row per landmark.
    choice_, choice_params_, uses_source_, candidates_, gain_, gain_interval_, pairs_r2_, codes_
        As for :class:`AutoHasher`; names of kernel candidates begin with "kernel".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> angle = rng.uniform(0, 6.28, 400)
    >>> S = np.stack([np.cos(3 * angle), np.sin(3 * angle)], axis=1)  # three arcs of the circle fall on one
    >>> X = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.02 * rng.standard_normal((400, 2))
    >>> hasher = KernelAutoHasher(8, relevance="source", random_state=0).fit(X[:200], privileged=S[:200])
    >>> hasher.is_kernel_, hasher.transform(X).shape
    (True, (400, 1))
    """

    summary = "the same, with kernel hash functions beside the linear ones"
    hash_parts = (*AutoHasher.hash_parts, "landmarks_", "centre_", "gamma_")

    landmarks_: InMemory = field(init=False)
    centre_: Array = field(init=False)
    gamma_: float = field(init=False)

    gamma: float = positive(1.0)
    n_landmarks: int = count(500)

    @property
    def is_kernel_(self) -> bool:
        """Whether the hash function is one of kernel features."""
        return "landmarks_" in vars(self)

    def _trial(self, views: Views, rng: np.random.RandomState, *, scored: bool = True) -> Trial:
        plan = self._plan(views)
        if not plan.relevance.kernel:
            return Trial(views, plan, rng, scored=scored)
        quick = [candidate for candidate in plan.candidates if candidate.starts_at_itq]
        kernel = [replace(candidate, kernel=True) for candidate in quick]
        plan = plan._replace(candidates=(*quick, *kernel, *plan.candidates[len(quick) :]))
        return Trial(views, plan, rng, self._kernel_space, scored=scored)

    def _kernel_space(self, views: Views, linear: Space, rng: np.random.RandomState) -> Space:
        """Kernel features of all target rows, with the folds of the linear space."""
        X, n = views.all_target, views.X.shape[0]
        many = X.shape[0]
        drawn = np.arange(many)
        if many > self.n_landmarks:
            drawn = np.sort(rng.choice(many, self.n_landmarks, replace=False))
        landmarks = X[drawn]
        squared = 2 - 2 * cosines(landmarks, landmarks, views.mean).astype(np.float64)
        gamma, root = kernel_root(np.maximum((squared + squared.T) / 2, 0.0), self.gamma)
        kernel = kernel_values(X, landmarks, views.mean, gamma)
        coordinates = target_coordinates(kernel @ root, kernel.mean(axis=0) @ root, self.n_bits)
        values = coordinates.values.astype(np.float64)
        more, other = values[n:], linear.geometry
        geometry = Geometry(
            values[:n], self.n_bits, other.seed, other.source, widths=other.widths, more=more, labels=other.labels
        )
        widths = () if other.source is None else (geometry.imputation.width,)

        def fitted(projection: Array) -> Fitted:
            return {
                "projection_": (root @ coordinates.back(projection)).astype(X.dtype),
                "mean_": kernel.mean(axis=0).astype(X.dtype),
                "landmarks_": landmarks,
                "centre_": views.mean,
                "gamma_": gamma,
            }

        assert linear.folds is not None
        kept = linear.folds.division.kept
        return Space(geometry, linear.folds.in_other_coordinates(values[kept], more, widths), fitted)

    @property
    def _hash_function(self) -> HashFunction:
        return KERNEL if self.is_kernel_ else LINEAR
