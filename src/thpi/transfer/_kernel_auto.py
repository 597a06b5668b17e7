"""KernelAutoHasher: AutoHasher whose hash functions may bend."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from thpi.base import Views
from thpi.codes import n_bytes
from thpi.hashers._geometry import Array, Geometry, target_coordinates
from thpi.solvers.kernel_features import kernel_root
from thpi.solvers.moments import centred_product
from thpi.transfer._auto import AutoHasher
from thpi.transfer._candidates import Candidate
from thpi.transfer._scoring import Space

__all__ = ["KernelAutoHasher"]


class KernelAutoHasher(AutoHasher):
    """AutoHasher that may also take hash functions which are linear in kernel features of a row, not in the row.

    With landmarks ``l_1 .. l_m``, target rows drawn at random, and ``k(x) = (exp(-g ||x - l_j||^2))_j``, where x and
    l_j are centred and scaled to length 1, the hash function is ``sgn((k(x) - mean) P)``. Its boundaries are curved.
    Like those of a linear hash function they do not depend on how long the centred row is: where columns were chosen
    to suit few rows, as by principal components, new rows are shorter than these, and without the scaling all of
    them would look alike. g is ``width`` over the median squared distance of landmarks.

    Under target relevance there is nothing to bend for, and the result is that of :class:`AutoHasher`. Else every
    candidate of it but the paper's methods is tried twice, on the rows and on the features ``k(x) K^(-1/2)``, K the
    kernel matrix of the landmarks, whose inner products are the kernel; folds, ground truth and gates are the same,
    and of equals the linear one is taken. Where a linear one is chosen, the result is a linear hash function;
    :attr:`bends_` says which it is.

    Fitting takes about twice the time, and a code costs m products of d numbers and c of m in place of c of d. There
    is no n x n matrix: memory is n x m.

    Parameters
    ----------
    n_bits, relevance, n_folds, gate, max_pairs, max_unpaired, n_starts, n_jobs, random_state
        As for :class:`AutoHasher`.
    width : float, default=1.0
        Width of the kernel; larger is more local.
    n_landmarks : int, default=500
        Landmarks, drawn at random from more rows.

    Attributes
    ----------
    bends_ : bool
        Whether the hash function is one of kernel features; then there are ``landmarks_``, ``centre_`` (the mean of
        the target rows) and ``kernel_exponent_`` (g), and ``mean_`` and ``projection_`` have a row a landmark.
    choice_, candidates_, gain_, gain_interval_, pairs_r2_, codes_
        As for :class:`AutoHasher`; names of candidates that bend end with "kernel".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> angle = rng.uniform(0, 6.28, 400)
    >>> S = np.stack([np.cos(3 * angle), np.sin(3 * angle)], axis=1)  # three arcs of the circle are one
    >>> X = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.02 * rng.standard_normal((400, 2))
    >>> hasher = KernelAutoHasher(8, relevance="source", random_state=0).fit(X[:200], privileged=S[:200])
    >>> hasher.bends_, hasher.transform(X).shape
    (True, (400, 1))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AutoHasher._parameter_constraints,
        "width": [Interval(Real, 0, None, closed="neither")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
    }

    landmarks_: Any
    centre_: Array
    kernel_exponent_: float

    def __init__(
        self,
        n_bits: int = 32,
        *,
        relevance: Literal["target", "source", "labels", "groups"] = "target",
        width: float = 1.0,
        n_landmarks: int = 500,
        n_folds: int = 3,
        gate: float = 1.0,
        max_pairs: int = 500,
        max_unpaired: int = 3000,
        n_starts: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_bits, relevance=relevance, n_folds=n_folds, gate=gate, max_pairs=max_pairs, max_unpaired=max_unpaired,
            n_starts=n_starts, n_jobs=n_jobs, random_state=random_state,
        )  # fmt: skip
        self.width = width
        self.n_landmarks = n_landmarks

    @property
    def bends_(self) -> bool:
        """Whether the hash function is one of kernel features."""
        return "landmarks_" in vars(self)

    def _listed(self, geometry: Geometry, labels: Array | None) -> list[Candidate]:
        listed = super()._listed(geometry, labels)
        if self.relevance == "target":
            return listed
        cheap = [candidate for candidate in listed if not candidate.costly]
        bent = [replace(candidate, name=f"{candidate.name} kernel", kernel=True) for candidate in cheap]
        return [*cheap, *bent, *listed[len(cheap) :]]

    def _spaces(self, views: Views, linear: Space, rng: np.random.RandomState) -> dict[bool, Space]:
        if linear.folds is None or self.relevance == "target":
            return {False: linear}
        X, n = views.all_target, views.X.shape[0]
        many = X.shape[0]
        drawn = np.arange(many)
        if many > self.n_landmarks:
            drawn = np.sort(rng.choice(many, self.n_landmarks, replace=False))
        landmarks = X[drawn]
        squared = 2 - 2 * _cosines(landmarks, landmarks, views.mean).astype(np.float64)
        exponent, root = kernel_root(np.maximum((squared + squared.T) / 2, 0.0), self.width)
        kernel = _kernel(X, landmarks, views.mean, exponent)
        coordinates = target_coordinates(kernel @ root, kernel.mean(axis=0) @ root, self.n_bits)
        values = coordinates.values.astype(np.float64)
        straight = linear.geometry
        more = values[n:]
        geometry = Geometry(values[:n], self.n_bits, straight.seed, straight.source, widths=straight.widths, more=more)
        widths = () if straight.source is None else (geometry.imputation.width,)

        def back(projection: Array) -> dict[str, Any]:
            return {
                "projection_": (root @ coordinates.back(projection)).astype(X.dtype),
                "mean_": kernel.mean(axis=0).astype(X.dtype),
                "landmarks_": landmarks,
                "centre_": views.mean,
                "kernel_exponent_": exponent,
            }

        return {False: linear, True: Space(geometry, linear.folds.of(values[linear.folds.kept], more, widths), back)}

    def _project(self, X: Any) -> Array:
        if not self.bends_:
            return super()._project(X)
        kernel = _kernel(X, self.landmarks_, self.centre_, self.kernel_exponent_)
        return np.asarray(centred_product(kernel, self.mean_, self.projection_))

    def _check_fitted(self) -> None:
        if not self.bends_:
            super()._check_fitted()
            return
        m, d, c = self.landmarks_.shape[0], self.n_features_in_, self.n_bits
        shapes = self.landmarks_.shape, self.centre_.shape, self.mean_.shape, self.projection_.shape
        if shapes != ((m, d), (d,), (m,), (m, c)) or self.codes_.shape[1:] != (n_bytes(c),):
            raise ValueError(f"landmarks_, centre_, mean_ and projection_ {shapes} or codes_ do not fit ({d}, {c})")


def _kernel(X: Any, landmarks: Any, centre: Array, exponent: float) -> Array:
    """``exp(-exponent ||x - l||^2)`` of rows and landmarks, centred and scaled to length 1: their squared distance is 2
    less twice their cosine."""
    return np.asarray(np.exp(2 * exponent * (_cosines(X, landmarks, centre) - 1)), dtype=X.dtype)


def _cosines(X: Any, landmarks: Any, centre: Array) -> Array:
    """Cosines of centred rows and centred landmarks; sparse ones are not made dense."""
    if sparse.issparse(X) or sparse.issparse(landmarks):
        both = float(centre @ centre)
        along, beside = (np.asarray(rows @ centre) for rows in (X, landmarks))
        products = safe_sparse_dot(X, landmarks.T, dense_output=True) - along[:, None] - beside + both
        squares = (row_norms(rows, squared=True) - 2 * dot + both for rows, dot in ((X, along), (landmarks, beside)))
        lengths = [np.sqrt(np.maximum(square, 0.0)) for square in squares]
    else:
        rows, others = X - centre, landmarks - centre
        products, lengths = rows @ others.T, [row_norms(rows), row_norms(others)]
    least = np.finfo(X.dtype).tiny
    return np.asarray(products / np.maximum(lengths[0], least)[:, None] / np.maximum(lengths[1], least))
