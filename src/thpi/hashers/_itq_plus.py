"""ITQ+: iterative quantisation with a slack function learned from privileged data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg
from sklearn.metrics import pairwise_distances
from sklearn.utils._param_validation import StrOptions

from thpi._types import Array, Fitted
from thpi.base import BaseHasher, Views, count, dimension_limit, one_of, pair_limit, parameter, weight
from thpi.codes import pack_signs
from thpi.hashers._cvh import canonical_directions
from thpi.hashers._itq import best_run, evidence, restart_seeds
from thpi.solvers.moments import (
    Coordinates,
    centred_product,
    column_mean,
    cross_moment,
    full_rank_coordinates,
    principal_axes,
)
from thpi.solvers.slack_quantisation import slack_quantisation


@dataclass(eq=False, repr=False, kw_only=True)
class ITQPlus(BaseHasher):
    """Iterative quantisation whose error is approximated from paired source data: the paper's ITQ+.

    With centred target rows ``X``, their source rows ``S``, balanced codes ``B`` and ``E = B - X R``:

        ``min ||E||_F^2 + lambda1 ||E - S P||_F^2``   over ``B``, ``R'R = I``, ``P'P = I``

    (eq. 2 with the weight its updates use). Alternates the balanced signs of ``(1 + lambda1) X R + lambda1 S P``
    for ``B`` with two Procrustes steps for ``R`` and ``P``. The hash function is ``sgn((x - mean) R)``: nothing of
    the source is needed for new rows.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, n_samples - 1)``. If the source has fewer columns than bits, P
        has orthonormal rows instead of columns.
    lambda1 : float, default=0.01
        Weight of the slack term. 0 leaves balanced ITQ.
    variant : {"reduce", "trace", "loss"}, default="trace"
        Which problem the updates of R and P solve. The paper's closed form is exact for square R only:

        - "reduce": reduce both views to ``n_bits`` columns first; then it is exact.
        - "trace": full dimension, only the linear part of the loss, ``max tr(R'X'A)``: the closed form taken
          literally. With ``lambda1=0`` this is balanced L1-norm PCA.
        - "loss": full dimension, the true loss, by generalised power iteration.

        ``objective_`` is the objective of the variant; it never rises.
    reduction : {"pca", "cca"}, default="pca"
        How ``variant="reduce"`` reduces the views.
    ridge : float, default=10.0
        Ridge of the CCA, for ``reduction="cca"``.
    scale : {"unit", "radius", None}, default="unit"
        Scale of both views, as the loss compares them with +-1. "unit": the best ``n_bits`` directions have mean square
        1; "radius": the mean distance to the 50th neighbour is 1 (the authors' code, for the target); None: as given.
    n_init, tol, max_iter, random_state
        As for :class:`ITQ`; 150 iterations are the paper's cap.

    Attributes
    ----------
    projection_, slack_projection_ : arrays of shape (n_features, n_bits) and (n_source_features, n_bits)
        R and P, up to the scale of the views; the slack function is ``(s - source_mean_) slack_projection_``.
    codes_ : uint8 array of shape (n_samples, ceil(n_bits / 8))
        The learned B, packed. It carries privileged information and is balanced: some bits are not ``transform(X)``'s.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((100, 6)); X = S @ rng.standard_normal((6, 8))
    >>> hasher = ITQPlus(n_bits=4, random_state=0).fit(X, privileged=S)
    >>> hasher.transform(X[:3]).shape, bool(np.all(np.diff(hasher.objective_) <= 0))
    ((3, 1), True)
    """

    summary = "ITQ+: a slack function of the paired source approximates the quantisation error"
    needs_privileged = True

    lambda1: float = weight(0.01)
    variant: Literal["reduce", "trace", "loss"] = one_of("trace", "reduce", "loss")
    reduction: Literal["pca", "cca"] = one_of("pca", "cca")
    ridge: float = weight(10.0)
    scale: Literal["unit", "radius"] | None = parameter("unit", StrOptions({"unit", "radius"}), None)
    n_init: int = count(1)
    tol: float = weight(1e-6)
    max_iter: int = count(150)

    def _max_bits(self, views: Views) -> tuple[int, str]:
        return pair_limit(views) if self.variant == "reduce" and self.reduction == "cca" else dimension_limit(views)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        return self._alternate(views, restart_seeds(rng, self.n_init))

    def _alternate(
        self,
        views: Views,
        streams: list[np.random.RandomState],
        *,
        lambda2: float = 0.0,
        laplacian: Any = None,
        coarse: Any = None,
    ) -> Fitted:
        source_mean = column_mean(views.S)
        X, S = self._coordinates(views, source_mean)
        best = best_run(
            slack_quantisation(
                X.values,
                S.values,
                stream,
                n_bits=self.n_bits,
                lambda1=self.lambda1,
                lambda2=lambda2,
                laplacian=laplacian,
                coarse=coarse,
                true_loss=self.variant != "trace",
                tol=self.tol,
                max_iter=self.max_iter,
            )
            for stream in streams
        )
        return evidence(best) | {
            "projection_": X.back(best.R),
            "slack_projection_": S.back(best.P),
            "source_mean_": source_mean,
            "codes_": pack_signs(best.B),
        }

    def _coordinates(self, views: Views, source_mean: Array) -> tuple[Coordinates, Coordinates]:
        """Coordinates of both views in which R and P are sought, on the scale of +-1."""
        c = self.n_bits
        both = ((views.X, views.mean), (views.S, source_mean))
        if self.variant != "reduce":
            X, S = (full_rank_coordinates(*view) for view in both)
        else:
            if self.reduction == "cca":
                cca, _ = canonical_directions(views, c, self.ridge)
                axes = [cca.x_directions * cca.correlations, cca.y_directions * cca.correlations]
            else:
                axes = [principal_axes(*view, min(c, view[0].shape[1]))[0] for view in both]
            X, S = (Coordinates(centred_product(*view, V), axes=V) for view, V in zip(both, axes, strict=True))
        return tuple(view.scaled(_scale_factor(view.values, self.scale, c)) for view in (X, S))  # type: ignore[return-value]


def _scale_factor(values: Array, scale: str | None, n_bits: int) -> float:
    """Give the factor that brings centred data to the scale of +-1."""
    n, d = values.shape
    if scale == "unit":
        k = min(n_bits, d)
        if k == d:
            energy = float(np.einsum("ij,ij->", values, values, dtype=np.float64))
        else:
            # The squares of the leading singular values; the axes themselves are not needed.
            moment = cross_moment(values, values)
            energy = float(linalg.eigvalsh(moment, subset_by_index=[d - k, d - 1]).clip(0).sum())
        return float(np.sqrt(n * k / energy)) if energy > 0 else 1.0
    if scale == "radius":
        neighbour = min(50, n - 1)
        radius = float(np.partition(pairwise_distances(values), neighbour, axis=1)[:, neighbour].mean())
        return 1 / radius if radius > 0 else 1.0
    return 1.0
