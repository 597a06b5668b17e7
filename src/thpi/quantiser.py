"""Codes of a few bytes by residual quantisation, with an offset that is right for the queries near a row.

A row x, in leading principal coordinates about the mean, becomes a sum of M centroids, each one of 256:

    x^ = c_1 + ... + c_M,     c_m the nearest centroid of what c_1 ... c_(m-1) leave, by beam search.

The squared distance of a query q is ``|q|^2 + |x|^2 - 2 <q, x>``. The usual estimate is ``|q - x^|^2``. But rows matter
most to queries near them, and such queries are known: they are like x, nearer to the mean. Let s_j be the slope of the
mean coordinate j of a row's neighbours on its own, over all training rows; then ``s * x`` is the query to expect near
x. The offset

    b(x) = |x|^2 - 2 <s * x, x - x^>

makes the estimate ``|q|^2 + b(x) - 2 <q, x^>`` exact for that query, and right on average for those around it. One byte
says which of 256 levels is nearest to it: the means of the best 256 groups of the offsets of training rows. Where that
rounding would cost more than three centroids gain, the offset has four bytes, as float32: let r = x - x^ be what M
centroids leave of a row, y its neighbours, d^2 their mean squared distance, and e the rounding; the choice has the
lesser mean of

    ((2 <y - s * x, r>)^2 + e^2) / d^4,     M + 1 = n_bytes with levels,  M + 4 = n_bytes and e = 0 without.

A search adds up M numbers from tables, as in product quantisation.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from thpi import model_file
from thpi._types import Array, Codes, Constraints, Floats, Ints, PathLike, Seed
from thpi.codes import check_codes
from thpi.index._exact import faiss_module
from thpi.solvers.moments import principal_axes

__all__ = ["ResidualQuantiser"]

_CENTROIDS = 256
_LEAST_COMPONENTS = 128
_FLOAT = 4  # bytes of an offset that is not rounded
_LEAST_SCALE = 1e-3  # of the median
_BLOCK = 128  # rows whose neighbours are held at a time
_SAMPLE = 10_000  # rows whose neighbours are looked at, and among which they are sought


class ResidualQuantiser(TransformerMixin, BaseEstimator):
    """Code dense vectors in ``n_bytes`` bytes for Euclidean search; see :mod:`thpi.quantiser` for the formulas.

    Parameters
    ----------
    n_bytes : int, default=16
        Bytes of a code: one or four of them are the offset, each of the others one of 256 centroids.
    n_components : int, default=None
        Principal coordinates that are coded; None: 8 a byte, at least 128, as far as there are so many.
    n_neighbours : int, default=200
        Neighbours of a row that stand for the queries near it.
    beam : int, default=5
        Codes that are followed at a time; more give better codes and take longer.
    random_state : int, RandomState or None, default=None
        Seed of the centroids.

    Attributes
    ----------
    mean_, axes_ : of the principal coordinates.
    centroids_ : array of shape (n_bytes - 1, 256, n_components), or n_bytes - 4 of them.
    slopes_ : s of the formula.
    offset_levels_ : the 256 offsets that the last byte can say, rising; empty if the last four bytes are the offset.

    References
    ----------
    Chen, Guan and Wang (2010), Approximate nearest neighbor search by residual vector quantization.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((400, 16))
    >>> quantiser = ResidualQuantiser(n_bytes=6, random_state=0).fit(X)
    >>> codes = quantiser.transform(X)
    >>> codes.shape, codes.dtype
    ((400, 6), dtype('uint8'))
    >>> index = quantiser.index(codes)
    >>> distances, rows = index.search(X[:1].astype("float32"), 1)
    >>> int(rows[0, 0])
    0
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_bytes": [Interval(Integral, 2, None, closed="left")],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "n_neighbours": [Interval(Integral, 1, None, closed="left")],
        "beam": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    _hash_name: ClassVar[None] = None  # model files say so of methods whose codes are their own

    def __init__(
        self,
        n_bytes: int = 16,
        *,
        n_components: int | None = None,
        n_neighbours: int = 200,
        beam: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.n_bytes, self.n_components, self.n_neighbours = n_bytes, n_components, n_neighbours
        self.beam, self.random_state = beam, random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> ResidualQuantiser:
        """Learn axes, centroids and offsets from the rows of ``X``, at least 256; ``y`` is not used."""
        self._validate_params()
        rows = check_array(X, dtype=[np.float64, np.float32], estimator=self, input_name="X")
        n, d = rows.shape
        if n < _CENTROIDS:
            raise ValueError(f"X has {n} rows; {_CENTROIDS} centroids need at least as many.")
        seed = int(check_random_state(self.random_state).randint(1, 2**31 - 1))
        m = min(max(_LEAST_COMPONENTS, 8 * self.n_bytes) if self.n_components is None else self.n_components, d)
        self.n_features_in_ = d
        self.mean_ = np.asarray(rows.mean(axis=0, dtype=np.float64))
        self.axes_ = np.asarray(principal_axes(rows, self.mean_.astype(rows.dtype), m)[0], dtype=np.float64)
        Z = self._coordinates(rows)
        self.centroids_ = self._learned(Z, seed)
        near = _Neighbours(Z, self.n_neighbours, seed)
        self.slopes_ = near.slopes()
        parts = self._nearest(Z)
        offsets = self._offsets(rows, Z, parts)
        self.offset_levels_ = _levels(offsets)
        if self.n_bytes > _FLOAT and self._float_pays(near, Z, parts, offsets):
            # Centroids are learned one after the other: the first ones are those of a shorter code.
            self.centroids_, self.offset_levels_ = self.centroids_[: self.n_bytes - _FLOAT], np.empty(0)
        return self

    def _float_pays(self, near: _Neighbours, Z: Floats, parts: Codes, offsets: Floats) -> bool:
        """Whether four bytes of offset are worth three centroids."""
        fewer = parts[:, : self.n_bytes - _FLOAT]
        rounding = offsets - self.offset_levels_[self._level(offsets)]
        with_levels = near.squared_error(Z - self._decoded(parts), self.slopes_, rounding)
        return near.squared_error(Z - self._decoded(fewer), self.slopes_, np.zeros(len(Z))) < with_levels

    def transform(self, X: npt.ArrayLike) -> Codes:
        """Return the codes of rows, ``n_bytes`` bytes each: the numbers of the centroids, then the offset."""
        rows = self._checked(X)
        Z = self._coordinates(rows)
        parts = self._nearest(Z)
        offsets = self._offsets(rows, Z, parts)
        if not len(self.offset_levels_):
            return np.hstack([parts, offsets.astype("<f4")[:, None].view(np.uint8)])
        return np.hstack([parts, self._level(offsets).astype(np.uint8)[:, None]])

    def distances(self, queries: npt.ArrayLike, codes: npt.ArrayLike) -> Floats:
        """Return estimates of the squared distance of each query to each code: ``|q|^2 + b(x) - 2 <q, x^>``."""
        rows, packed = self._checked(queries), self._checked_codes(codes)
        m, lengths = len(self.centroids_), ((rows - self.mean_) ** 2).sum(axis=1)
        last = np.ascontiguousarray(packed[:, m:])
        offsets = self.offset_levels_[last[:, 0]] if len(self.offset_levels_) else last.view("<f4")[:, 0]
        return np.asarray(lengths[:, None] + offsets - 2 * self._coordinates(rows) @ self._decoded(packed[:, :m]).T)

    def index(self, codes: npt.ArrayLike) -> Any:
        """Return an index of faiss over codes: it searches rows as they are, and ``faiss.write_index`` writes it.

        Its distances are those of :meth:`distances` without what the axes leave of the query, which all rows share.
        """
        faiss = faiss_module()

        packed = self._checked_codes(codes)
        m, d = self.axes_.shape[1], self.n_features_in_
        kind = "ST_norm_cqint8" if len(self.offset_levels_) else "ST_norm_float"
        kinds = faiss.AdditiveQuantizer
        inner = faiss.IndexResidualQuantizer(m, len(self.centroids_), 8, faiss.METRIC_L2, getattr(kinds, kind))
        _set_centroids(inner.rq, self.centroids_)
        if len(self.offset_levels_):
            inner.rq.qnorm.add(self.offset_levels_.astype(np.float32)[:, None])  # where faiss keeps levels of |x^|^2
        inner.is_trained = True
        faiss.copy_array_to_vector(packed.ravel(), inner.codes)
        inner.ntotal = len(packed)
        step = faiss.LinearTransform(d, m, True)
        faiss.copy_array_to_vector(np.float32(self.axes_.T).ravel(), step.A)
        faiss.copy_array_to_vector(np.float32(-self.mean_ @ self.axes_), step.b)
        step.is_trained = True
        index = faiss.IndexPreTransform(step, inner)
        index.ntotal = len(packed)
        return index

    def save(self, path: PathLike) -> None:
        """Write the quantiser to a file in one step; see :mod:`thpi.model_file`."""
        check_is_fitted(self)
        model_file.save(self, path)

    @classmethod
    def load(cls, path: PathLike) -> ResidualQuantiser:
        """Read a quantiser that :meth:`save` wrote; nothing in the file is executed."""
        contents = model_file.read(path)
        with model_file.usable(path, cls.__name__):
            if contents.method != cls.__name__:
                raise model_file.ModelFileError(f"it holds a {contents.method[:80]}, not a {cls.__name__}.")
            quantiser = cls(**contents.params)
            quantiser._validate_params()
            quantiser.__dict__.update(contents.fitted())
            quantiser._check_shapes()
        return quantiser

    def _check_shapes(self) -> None:
        d, m = self.n_features_in_, self.axes_.shape[1]
        n_levels = _CENTROIDS if len(self.offset_levels_) else 0
        n_parts = self.n_bytes - (1 if n_levels else _FLOAT)
        wanted = {"mean_": (d,), "axes_": (d, m), "slopes_": (m,), "offset_levels_": (n_levels,)}
        for name, shape in {**wanted, "centroids_": (n_parts, _CENTROIDS, m)}.items():
            if getattr(self, name).shape != shape:
                raise model_file.ModelFileError(f"its array {name} does not have shape {shape}.")

    def _checked(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        rows = check_array(X, dtype=[np.float64, np.float32], estimator=self, input_name="X")
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {rows.shape[1]} features; the quantiser was fitted on {self.n_features_in_}.")
        return np.asarray(rows)

    def _checked_codes(self, codes: npt.ArrayLike) -> Codes:
        check_is_fitted(self)
        packed = check_codes(codes)
        if packed.shape[1] != self.n_bytes:
            raise ValueError(f"codes has {packed.shape[1]} bytes per row; n_bytes={self.n_bytes} needs as many.")
        return packed

    def _coordinates(self, rows: Array) -> Floats:
        return np.asarray((rows - self.mean_) @ self.axes_)

    def _learned(self, Z: Floats, seed: int) -> Array:
        quantiser = self._faiss(Z.shape[1], self.n_bytes - 1)
        quantiser.cp.seed = seed
        quantiser.train(np.ascontiguousarray(Z, dtype=np.float32))
        centroids = faiss_module().vector_to_array(quantiser.codebooks)
        return np.array(centroids.reshape(self.n_bytes - 1, _CENTROIDS, -1))

    def _faiss(self, m: int, n_parts: int) -> Any:
        faiss = faiss_module()

        quantiser = faiss.ResidualQuantizer(m, n_parts, 8)
        quantiser.max_beam_size = self.beam
        quantiser.train_type = faiss.ResidualQuantizer.Train_default
        quantiser.cp.min_points_per_centroid = 1  # or faiss prints a warning about few rows
        return quantiser

    def _nearest(self, Z: Floats) -> Codes:
        quantiser = self._faiss(Z.shape[1], len(self.centroids_))
        _set_centroids(quantiser, self.centroids_)
        return np.asarray(quantiser.compute_codes(np.ascontiguousarray(Z, dtype=np.float32)), dtype=np.uint8)

    def _decoded(self, parts: Codes) -> Floats:
        total = np.zeros((len(parts), self.centroids_.shape[2]))
        for column, centroids in zip(parts.T, self.centroids_, strict=False):  # the first parts are a code too
            total += centroids[column]
        return total

    def _level(self, offsets: Floats) -> Ints:
        """Return the number of the nearest level."""
        return np.searchsorted((self.offset_levels_[1:] + self.offset_levels_[:-1]) / 2, offsets)

    def _offsets(self, rows: Array, Z: Floats, parts: Codes) -> Floats:
        lengths = ((rows - self.mean_) ** 2).sum(axis=1)
        return np.asarray(lengths - 2 * (Z * self.slopes_ * (Z - self._decoded(parts))).sum(axis=1))


def _set_centroids(quantiser: Any, centroids: Array) -> None:
    faiss = faiss_module()

    faiss.copy_array_to_vector(np.ascontiguousarray(centroids, dtype=np.float32).ravel(), quantiser.codebooks)
    quantiser.is_trained = True


def _levels(offsets: Floats) -> Floats:
    """Return the means of the 256 groups with the least squared deviations, rising; at most 10,000 quantiles count."""
    quantiles = np.sort(np.float32(offsets))[np.linspace(0, len(offsets) - 1, min(len(offsets), _SAMPLE)).astype(int)]
    distinct = np.unique(quantiles)
    if len(distinct) <= _CENTROIDS:
        return np.pad(distinct.astype(np.float64), (0, _CENTROIDS - len(distinct)), mode="edge")
    clustering = faiss_module().Clustering1D(_CENTROIDS)
    clustering.train_exact(quantiles[:, None])
    return np.sort(faiss_module().vector_to_array(clustering.centroids)).astype(np.float64)


class _Neighbours:
    """Neighbours of some rows among themselves."""

    def __init__(self, Z: Floats, n_neighbours: int, seed: int) -> None:
        self.sample = np.sort(np.random.RandomState(seed).permutation(len(Z))[:_SAMPLE])
        self.rows = np.ascontiguousarray(Z[self.sample], dtype=np.float32)
        index = faiss_module().IndexFlatL2(Z.shape[1])
        index.add(self.rows)
        # The first is the row itself, or its double.
        squared, near = index.search(self.rows, min(n_neighbours, max(1, len(self.rows) // 4)) + 1)
        self.near, scale = near[:, 1:], squared[:, 1:].mean(axis=1, dtype=np.float64)
        # Rows with many doubles must not outweigh all others.
        self.scale = np.maximum(scale, _LEAST_SCALE * (np.median(scale) or 1.0))

    def slopes(self) -> Floats:
        """Slope of the mean coordinate of a row's neighbours on its own: sum x y / sum x^2, for each coordinate."""
        products, squares = np.zeros(self.rows.shape[1]), (self.rows.astype(np.float64) ** 2).sum(axis=0)
        for block in self._blocks():
            means = self.rows[self.near[block]].mean(axis=1, dtype=np.float64)
            products += (self.rows[block] * means).sum(axis=0)
        return np.asarray(products / np.where(squares > 0, squares, 1))

    def squared_error(self, residuals: Floats, slopes: Floats, rounding: Floats) -> float:
        """Mean of ``((2 <y - s * x, r>)^2 + e^2) / d^4`` over rows x and neighbours y; residuals r, rounding e."""
        total = 0.0
        for block in self._blocks():
            r, own = residuals[self.sample[block]], self.rows[block] * slopes
            products = np.einsum("ikj,ij->ik", self.rows[self.near[block]], r) - (own * r).sum(axis=1)[:, None]
            errors = 4 * (products**2).mean(axis=1) + rounding[self.sample[block]] ** 2
            total += float((errors / self.scale[block] ** 2).sum())
        return total / len(self.rows)

    def _blocks(self) -> list[slice]:
        return [slice(start, start + _BLOCK) for start in range(0, len(self.rows), _BLOCK)]
