"""NeighbourHash: hash functions that keep who is near to whom, in target space or in source space."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from thpi.base import BaseHasher, Views
from thpi.hashers._geometry import Array, Geometry
from thpi.hashers._optional_source import OptionalSource
from thpi.hashers._source_features import TEACHERS
from thpi.hashers._transfer_itq import make_geometry, taught_by_source
from thpi.solvers.neighbour_embedding import NeighbourResult, neighbour_embedding, neighbour_probabilities

__all__ = ["NeighbourHash", "keep_neighbours"]

MAX_ROWS = 1000
IMPUTED_A_PAIR = 3


class NeighbourHash(OptionalSource):
    """Linear hash functions whose codes have the neighbours that the rows have: stochastic neighbour embedding.

    ITQ keeps the large variances; it does not ask who is near to whom. Here that is the objective. With
    ``h_i = tanh(P'x_i)`` in place of codes it minimises over P and t

    ``1/n sum_i KL(A_i || Q_i) + tether/c tr((P - P_0)' (C + r I) (P - P_0))``,

    where ``A_ij``, in proportion to ``exp(-||z_i - z_j||^2 / w)``, says who is near to i, and ``Q_ij``, in proportion
    to ``exp(t h_i'h_j)``, who seems so by the codes. For ``near="target"`` z are the target rows themselves. For
    ``near="source"`` they are source rows, known for the pairs and for unpaired items as well, whose target rows x are
    imputed as in :class:`TransferITQ`. The tether to ``P_0``, the projection of ITQ or, with a source, of
    :class:`TransferITQ`, keeps few rows from deciding too much; see :func:`thpi.solvers.neighbour_embedding` for C
    and r. L-BFGS from ``P_0``: the objective never rises.

    The hash function is ``sgn((x - mean) P)``. Without a source it is a learner of target rows alone; target rows
    without a source (``target=`` of ``fit``) take part where ``near="target"``, and in ``P_0``.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; no limit.
    near : {"target", "source"}, default="target"
        The space whose neighbours are kept; "source" needs ``privileged``.
    tether : float, default=0.3
        Weight of the distance to the start. 0.1 is bold, and pays with a thousand rows; 1 is cautious.
    perplexity : float, default=0.3
        Effective number of neighbours, as a share of the rows.
    dial, teacher, imputed_weight, shrinkage
        Of the :class:`TransferITQ` it begins at, where there is a source. 0.05 and "linear" suit neighbours in
        target space, 8 and "rbf" neighbours in source space.
    max_rows : int, default=1000
        Rows that take part, drawn at random from more: work and memory grow with its square, not with n.
    max_unpaired : int, default=3000
        Unpaired source rows that are used, drawn at random from more.
    tol, max_iter : float, int
        Stop where an iteration lowers the objective by less than this share, or after so many (default 30).
    random_state : int, RandomState or None
        Seed of the start and of samples.

    Attributes
    ----------
    objective_ : ndarray
        Objective at the start and after each iteration.
    projection_, codes_, n_iter_, converged_
        As for :class:`ITQ`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.RandomState(0).standard_normal((80, 10)) * np.linspace(1, 3, 10)
    >>> hasher = NeighbourHash(n_bits=8, random_state=0).fit(X)
    >>> hasher.transform(X).shape, bool(np.all(np.diff(hasher.objective_) <= 0))
    ((80, 1), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHasher._parameter_constraints,
        "near": [StrOptions({"target", "source"})],
        "tether": [Interval(Real, 0, None, closed="left")],
        "perplexity": [Interval(Real, 0, 1, closed="neither")],
        "dial": [Interval(Real, 0, None, closed="left")],
        "teacher": [StrOptions(set(TEACHERS))],
        "imputed_weight": [Interval(Real, 0, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="neither")],
        "max_rows": [Interval(Integral, 2, None, closed="left")],
        "max_unpaired": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_bits: int = 32,
        *,
        near: Literal["target", "source"] = "target",
        tether: float = 0.3,
        perplexity: float = 0.3,
        dial: float = 0.05,
        teacher: Literal["rbf", "linear", "codes", "diffusion", "mixed"] = "linear",
        imputed_weight: float = 0.3,
        shrinkage: float = 1.0,
        max_rows: int = MAX_ROWS,
        max_unpaired: int = 3000,
        tol: float = 1e-5,
        max_iter: int = 30,
        random_state: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.near = near
        self.tether = tether
        self.perplexity = perplexity
        self.dial = dial
        self.teacher = teacher
        self.imputed_weight = imputed_weight
        self.shrinkage = shrinkage
        self.max_rows = max_rows
        self.max_unpaired = max_unpaired
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, views: Views, rng: np.random.RandomState) -> dict[str, Any]:
        if self.near == "source" and views.S is None:
            raise ValueError("near='source' needs privileged=..., the space whose neighbours are to be kept.")
        geometry, back = make_geometry(views, self.n_bits, rng, self.max_unpaired)
        if geometry.source is None:
            begin = geometry.plain().projection
        else:
            W = taught_by_source(geometry, self.teacher, self.shrinkage).W if self.dial > 0 else None
            begin = geometry.quantise(W, self.dial, self.imputed_weight).projection
        found = keep_neighbours(
            geometry, begin, self.near, tether=self.tether, perplexity=self.perplexity, max_rows=self.max_rows,
            tol=self.tol, max_iter=self.max_iter,
        )  # fmt: skip
        return {
            "projection_": back(found.projection),
            "objective_": np.array(found.objective),
            "converged_": found.converged,
        }


def keep_neighbours(
    geometry: Geometry,
    begin: Array,
    near: str,
    *,
    tether: float = 0.3,
    perplexity: float = 0.3,
    max_rows: int = MAX_ROWS,
    tol: float = 1e-5,
    max_iter: int = 30,
) -> NeighbourResult:
    """Neighbour embedding of the rows of a geometry, from a projection of its coordinates."""

    def make() -> tuple[Array, Array]:
        rows, space = _rows_and_space(geometry, near, max_rows)
        if len(rows) < 2:
            return rows, np.zeros((len(rows), len(rows)), dtype=np.float32)
        return rows, neighbour_probabilities(space, perplexity)

    rows, A = geometry.kept(f"neighbours {near} {perplexity} {max_rows}", make)
    if len(rows) < 2:
        return NeighbourResult(begin, [0.0], True)
    return neighbour_embedding(rows, begin, A, tether=tether, tol=tol, max_iter=max_iter)


def _rows_and_space(geometry: Geometry, near: str, max_rows: int) -> tuple[Array, Array]:
    """Target rows, real and for ``near="source"`` imputed, and the rows whose neighbours they are to have."""
    rng = np.random.RandomState(geometry.seed)
    if near == "target":
        rows = geometry.real[_drawn(rng, len(geometry.real), max_rows)]
        return rows, rows
    assert geometry.source is not None
    n = len(geometry.X)
    some = _drawn(rng, n, max_rows)
    linear = geometry.source.linear
    others = _drawn(rng, len(geometry.imputed), min(max_rows - len(some), IMPUTED_A_PAIR * n))
    rows = np.vstack([geometry.X[some], geometry.imputed[others]])
    return rows, np.vstack([linear[geometry.rows[some]], linear[geometry.unpaired][others]])


def _drawn(rng: np.random.RandomState, n: int, most: int) -> Array:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
