"""TransferITQ: imputed rows, a metric that the source teaches, then iterative quantisation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from thpi.base import BaseHasher, Views
from thpi.hashers._geometry import Geometry, in_coordinates, target_coordinates
from thpi.hashers._itq import ITQ
from thpi.hashers._optional_source import OptionalSource
from thpi.hashers._source_features import TEACHERS, SourceFeatures
from thpi.solvers.loo_ridge import RidgeFit
from thpi.solvers.moments import centred_product

__all__ = ["TransferITQ", "make_geometry", "taught_by_source"]


class TransferITQ(OptionalSource):
    """Iterative quantisation of real and imputed target rows in a metric between target and source geometry.

    With centred target rows ``X`` and the source rows of pairs and of unpaired items:

    1. Kernel ridge from source to target on the pairs (linear or Gaussian; kernel and penalty by leave-one-out) gives
       target rows ``X_U`` for unpaired source rows. ``Z = [X; sqrt(imputed_weight) X_U]``. Target rows without a
       source (``target=`` of ``fit``) stand beside X in Z, and have no part in the regressions.
    2. Ridge from ``X`` to the teacher's features of the source gives ``W``, and ``M = I + dial k W W'`` with k such
       that ``Z W`` and ``Z`` have equal energy. A dial of 0 is target geometry, a large one source geometry as far as
       it can be read off the target.
    3. ITQ: ``min ||B - Z A R||_F^2`` over codes B and rotations R, where ``Z A`` are the ``n_bits`` leading principal
       coordinates of ``Z M^(1/2)``. The search begins at the codes of ITQ on X, so that what differs from ITQ is due
       to the source. Both steps are exact and the loss never rises. Where there are fewer dimensions than bits, R has
       orthonormal rows instead.

    The hash function is ``sgn((x - mean) A R)``: nothing of the source is needed for new rows. With ``dial=0`` and
    ``imputed_weight=0`` it is ITQ.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code. There is no limit: more bits than dimensions are further hyperplanes in the same space.
    dial : float, default=0.1
        Weight of the source geometry. 0.1 suits "near in target space"; 8 and more "near in source space" or, with
        ``teacher="diffusion"``, "of the same kind".
    teacher : {"rbf", "linear", "codes", "diffusion", "mixed"}, default="rbf"
        What of the source the metric follows: components of a Gaussian kernel (who is near), principal components,
        the ITQ codes of all source rows, diffusion coordinates of their graph of neighbours (who is of one group; see
        :func:`thpi.solvers.diffusion_map`), or kernel and diffusion together.
    imputed_weight : float, default=0.3
        Weight of an imputed row against a real one.
    shrinkage : float, default=1.0
        Factor on the penalty that leave-one-out chooses for W.
    max_unpaired : int, default=3000
        Unpaired source rows that are used, drawn at random from more.
    tol, max_iter, random_state
        As for :class:`ITQ`.

    Attributes
    ----------
    imputation_r2_, teacher_r2_ : float
        Shares of the target's and of the teacher's energy that the other domain predicts, by leave-one-out.
    projection_, codes_, objective_, n_iter_, converged_
        As for :class:`ITQ`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((300, 6)); X = S[:60] @ rng.standard_normal((6, 8))
    >>> hasher = TransferITQ(n_bits=4, random_state=0).fit(X, privileged=S[:60], source=S[60:])
    >>> hasher.transform(X).shape, hasher.imputation_r2_ > 0.99, bool(np.all(np.diff(hasher.objective_) <= 0))
    ((60, 1), True, True)
    """

    needs_privileged = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHasher._parameter_constraints,
        "dial": [Interval(Real, 0, None, closed="left")],
        "teacher": [StrOptions(set(TEACHERS))],
        "imputed_weight": [Interval(Real, 0, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="neither")],
        "max_unpaired": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_bits: int = 32,
        *,
        dial: float = 0.1,
        teacher: Literal["rbf", "linear", "codes", "diffusion", "mixed"] = "rbf",
        imputed_weight: float = 0.3,
        shrinkage: float = 1.0,
        max_unpaired: int = 3000,
        tol: float = 1e-6,
        max_iter: int = 150,
        random_state: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.dial = dial
        self.teacher = teacher
        self.imputed_weight = imputed_weight
        self.shrinkage = shrinkage
        self.max_unpaired = max_unpaired
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, views: Views, rng: np.random.RandomState) -> dict[str, Any]:
        geometry, back = make_geometry(views, self.n_bits, rng, self.max_unpaired)
        taught = taught_by_source(geometry, self.teacher, self.shrinkage)
        found = geometry.quantise(taught.W, self.dial, self.imputed_weight, tol=self.tol, max_iter=self.max_iter)
        return {
            "projection_": back(found.projection),
            "imputation_r2_": float(geometry.imputation.explained),
            "teacher_r2_": float(taught.explained),
            "objective_": np.array(found.objective),
            "converged_": found.converged,
        }


def taught_by_source(geometry: Geometry, teacher: str, shrinkage: float = 1.0) -> RidgeFit:
    """Ridge from the target rows of a geometry to the teacher's features of their source rows."""
    source = geometry.source
    assert source is not None

    return geometry.teacher(teacher, lambda: source.seen_by(teacher, geometry.n_bits)[geometry.rows], shrinkage)


def make_geometry(
    views: Views, n_bits: int, rng: np.random.RandomState, max_unpaired: int, itq: dict[str, Any] | None = None
) -> tuple[Geometry, Any]:
    """Give the geometry of all pairs and further target rows, begun at ITQ with this random stream, and the way back
    to the features."""
    if itq is None:
        itq = plain_itq(views, n_bits, rng)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    rows, n = views.all_target, views.X.shape[0]
    coordinates = target_coordinates(rows, views.mean, n_bits)
    X = coordinates.values.astype(np.float64)
    start = None
    if itq is not None:
        start = in_coordinates(X, centred_product(rows, views.mean, itq["projection_"]).astype(np.float64))
    source = None if views.S is None else SourceFeatures(views, rng, max_unpaired)
    geometry = Geometry(X[:n], n_bits, seed, source, start=start, more=X[n:])
    return geometry, lambda projection: coordinates.back(projection.astype(views.X.dtype))


def plain_itq(views: Views, n_bits: int, rng: np.random.RandomState) -> dict[str, Any] | None:
    """ITQ of the target rows from this random stream: what ``ITQ(n_bits, random_state=...)`` gives; None where there
    are too few dimensions for it."""
    hasher, views = ITQ(n_bits), Views(views.all_target)
    limit = hasher._max_bits(views)
    return None if limit is not None and n_bits > limit[0] else hasher._fit(views, rng)
