"""Codes of a few bytes by residual quantisation, with an offset that is right for the queries near a row.

A row x, in leading principal coordinates about the mean, becomes a sum of M centroids, each one of 256:

    x^ = c_1 + ... + c_M,     c_m the nearest centroid of what c_1 ... c_(m-1) leave, by beam search.

The squared distance of a query q is ``|q|^2 + |x|^2 - 2 <q, x>``. The usual estimate is ``|q - x^|^2``. But rows matter
most to queries near them, and such queries are known: they are like x, nearer to the mean. Let s_j be the slope of the
mean coordinate j of a row's neighbours on its own, over all training rows; then ``s * x`` is the query to expect near
x. The offset

    b(x) = |x|^2 - 2 <s * x, x - x^>

makes the estimate ``|q|^2 + b(x) - 2 <q, x^>`` exact for that query, and right on average for those around it. It is
kept in one of three ways, with M = n_bytes minus its bytes:

    1 byte    the number of the nearest of 256 levels, the means of the best 256 groups of the offsets of training rows;
    4 bytes   float32, for rows whose lengths differ so much that 256 levels are too coarse;
    0 bytes   |x^|^2 in its place, which follows from the centroids: the usual estimate, with one more centroid.

``fit`` takes what finds most of the ten nearest of some training rows. A search adds up M numbers from
tables, as in product quantisation. Without an offset it adds M (M + 1) / 2 of them, and so this way is tried for short
codes only (at most 4 bytes), and taken if it finds at least one in a hundred more.
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
from thpi._types import Array, Codes, Constraints, Floats, Ints, PathLike, Seed, check_numbers
from thpi.codes import check_codes
from thpi.index._exact import faiss_module
from thpi.kernels._threads import small_products
from thpi.solvers.moments import principal_axes

__all__ = ["ResidualQuantiser"]

_CENTROIDS = 256
_LEAST_COMPONENTS = 128
_LEVEL, _FLOAT = 1, 4  # bytes of an offset
_MOST_BYTES_WITHOUT = 4  # of a code without an offset: the tables of more do not fit into the cache
_LEAST_GAIN = 0.01  # in recall, of a code without an offset, which is slower to search
_NEAR, _QUERIES = 10, 500  # what is sought to choose between them, of how many rows
_BLOCK = 128  # rows whose neighbours are held at a time
_SAMPLE = 10_000  # rows whose neighbours are looked at, and among which they are sought


class ResidualQuantiser(TransformerMixin, BaseEstimator):
    """Code dense vectors in ``n_bytes`` bytes for Euclidean search; see :mod:`thpi.quantiser` for the formulas.

    Parameters
    ----------
    n_bytes : int, default=16
        Bytes of a code: none, one or four of them are the offset, each of the others one of 256 centroids.
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
    centroids_ : array of shape (n_bytes minus the bytes of the offset, 256, n_components).
    slopes_ : s of the formula.
    offset_levels_ : the 256 offsets that the last byte can say, rising; empty if the offset has no byte or four.

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
    hash_name: ClassVar[None] = None  # model files say so of methods whose codes are their own

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
        rows = check_array(check_numbers("X", X), dtype=[np.float64, np.float32], estimator=self, input_name="X")
        n = len(rows)
        if n < _CENTROIDS:
            raise ValueError(f"X has {n} rows; {_CENTROIDS} centroids need at least as many.")
        seed = int(check_random_state(self.random_state).randint(1, 2**31 - 1))
        faiss_module()  # its threads are counted, too
        with small_products(n):
            self._fit(rows, seed)
        return self

    def _fit(self, rows: Array, seed: int) -> None:
        d = rows.shape[1]
        m = min(max(_LEAST_COMPONENTS, 8 * self.n_bytes) if self.n_components is None else self.n_components, d)
        self.n_features_in_ = d
        self.mean_ = np.asarray(rows.mean(axis=0, dtype=np.float64))
        self.axes_ = np.asarray(principal_axes(rows, self.mean_.astype(rows.dtype), m)[0], dtype=np.float64)
        Z = self._coordinates(rows)
        self.slopes_ = _slopes(Z, self.n_neighbours, seed)
        learned = self._learned(Z, seed)
        self._take(self._best_size(rows, Z, learned, seed), learned, rows, Z)

    def _best_size(self, rows: Array, Z: Floats, learned: Array, seed: int) -> int:
        """Return the bytes of the offset with which most of the nearest are found."""
        queries = _Queries(rows, seed)
        recalls = {}
        for size in self._offset_sizes():
            parts, offsets = self._take(size, learned, rows, Z)
            kept = self._read(self._written(offsets, size), parts)
            recalls[size] = queries.recall(Z, self._decoded(parts), kept) - (0 if size else _LEAST_GAIN)
        return max(recalls, key=lambda size: recalls[size])

    def _take(self, size: int, learned: Array, rows: Array, Z: Floats) -> tuple[Codes, Floats]:
        """Set centroids and levels for offsets of that many bytes; return the numbers of the centroids, and offsets."""
        # Centroids are learned one after the other: the first ones are those of a shorter code.
        self.centroids_ = learned[: self.n_bytes - size]
        parts = self._nearest(Z)
        offsets = self._offsets(rows, Z, parts)
        self.offset_levels_ = _levels(offsets) if size == _LEVEL else np.empty(0)
        return parts, offsets

    def _offset_sizes(self) -> tuple[int, int]:
        return (_LEVEL, _FLOAT) if self.n_bytes > _MOST_BYTES_WITHOUT else (_LEVEL, 0)

    def transform(self, X: npt.ArrayLike) -> Codes:
        """Return the codes of rows, ``n_bytes`` bytes each: the numbers of the centroids, then the offset."""
        rows = self._checked(X)
        Z = self._coordinates(rows)
        parts = self._nearest(Z)
        offsets = self._offsets(rows, Z, parts)
        return np.hstack([parts, self._written(offsets, self.n_bytes - parts.shape[1])])

    def distances(self, queries: npt.ArrayLike, codes: npt.ArrayLike) -> Floats:
        """Return estimates of the squared distance of each query to each code: ``|q|^2 + b(x) - 2 <q, x^>``."""
        rows, packed = self._checked(queries), self._checked_codes(codes)
        m, lengths = len(self.centroids_), ((rows - self.mean_) ** 2).sum(axis=1)
        offsets = self._read(packed[:, m:], packed[:, :m])
        return np.asarray(lengths[:, None] + offsets - 2 * self._coordinates(rows) @ self._decoded(packed[:, :m]).T)

    def index(self, codes: npt.ArrayLike) -> Any:
        """Return an index of faiss over codes: it searches rows as they are, and ``faiss.write_index`` writes it.

        Its distances are those of :meth:`distances` without what the axes leave of the query, which all rows share.
        """
        faiss = faiss_module()

        packed = self._checked_codes(codes)
        m, d = self.axes_.shape[1], self.n_features_in_
        kind = {_LEVEL: "ST_norm_cqint8", _FLOAT: "ST_norm_float"}.get(self._offset_size, "ST_norm_from_LUT")
        kinds = faiss.AdditiveQuantizer
        inner = faiss.IndexResidualQuantizer(m, len(self.centroids_), 8, faiss.METRIC_L2, getattr(kinds, kind))
        _set_centroids(inner.rq, self.centroids_)
        if self._offset_size == _LEVEL:
            inner.rq.qnorm.add(self.offset_levels_.astype(np.float32)[:, None])  # where faiss keeps levels of |x^|^2
        if self._offset_size == 0:
            inner.rq.compute_codebook_tables()
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
        if self._offset_size not in self._offset_sizes():
            raise model_file.ModelFileError(f"it has {len(self.centroids_)} centroids a row for {self.n_bytes} bytes.")
        n_levels = _CENTROIDS if self._offset_size == _LEVEL else 0
        n_parts = self.n_bytes - self._offset_size
        wanted = {"mean_": (d,), "axes_": (d, m), "slopes_": (m,), "offset_levels_": (n_levels,)}
        for name, shape in {**wanted, "centroids_": (n_parts, _CENTROIDS, m)}.items():
            if getattr(self, name).shape != shape:
                raise model_file.ModelFileError(f"its array {name} does not have shape {shape}.")

    def _checked(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        rows = check_array(check_numbers("X", X), dtype=[np.float64, np.float32], estimator=self, input_name="X")
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
        n_parts = self.n_bytes - min(self._offset_sizes())
        quantiser = self._faiss(Z.shape[1], n_parts)
        quantiser.cp.seed = seed
        quantiser.train(np.ascontiguousarray(Z, dtype=np.float32))
        centroids = faiss_module().vector_to_array(quantiser.codebooks)
        return np.array(centroids.reshape(n_parts, _CENTROIDS, -1))

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
        for column, centroids in zip(parts.T, self.centroids_, strict=True):
            total += centroids[column]
        return total

    @property
    def _offset_size(self) -> int:
        return int(self.n_bytes) - len(self.centroids_)

    def _written(self, offsets: Floats, size: int) -> Codes:
        """Return the bytes of offsets."""
        if size == _LEVEL:
            return self._level(offsets).astype(np.uint8)[:, None]
        return offsets.astype("<f4")[:, None].view(np.uint8)[:, :size]

    def _read(self, written: Codes, parts: Codes) -> Floats:
        """Return the offsets that bytes say; without a byte it is the squared length of the sum of the centroids."""
        if written.shape[1] == _LEVEL:
            return np.asarray(self.offset_levels_[written[:, 0]])
        if written.shape[1] == _FLOAT:
            return np.asarray(np.ascontiguousarray(written).view("<f4")[:, 0], dtype=np.float64)
        return np.asarray((self._decoded(parts) ** 2).sum(axis=1))

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


def _slopes(Z: Floats, n_neighbours: int, seed: int) -> Floats:
    """Slope of the mean coordinate of a row's neighbours on its own: sum x y / sum x^2, for each coordinate."""
    rows = np.ascontiguousarray(Z[np.sort(np.random.RandomState(seed).permutation(len(Z))[:_SAMPLE])], dtype=np.float32)
    index = faiss_module().IndexFlatL2(Z.shape[1])
    index.add(rows)
    # The first is the row itself, or its double.
    near = index.search(rows, min(n_neighbours, max(1, len(rows) // 4)) + 1)[1][:, 1:]
    products, squares = np.zeros(rows.shape[1]), (rows.astype(np.float64) ** 2).sum(axis=0)
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        products += (rows[block] * rows[near[block]].mean(axis=1, dtype=np.float64)).sum(axis=0)
    return np.asarray(products / np.where(squares > 0, squares, 1))


class _Queries:
    """Some rows as queries, and those nearest to them."""

    def __init__(self, rows: Array, seed: int) -> None:
        self.sample = np.random.RandomState(seed).permutation(len(rows))[:_SAMPLE]
        some = np.ascontiguousarray(rows[self.sample], dtype=np.float32)
        index = faiss_module().IndexFlatL2(some.shape[1])
        index.add(some)
        self.near = index.search(some[:_QUERIES], _NEAR + 1)[1][:, 1:]  # the first is the row itself, or its double

    def recall(self, Z: Floats, decoded: Floats, offsets: Floats) -> float:
        """Return the share of the nearest that ``b(x) - 2 <q, x^>`` finds among as many."""
        queries = Z[self.sample[: len(self.near)]]
        estimates = offsets[self.sample] - 2 * queries @ decoded[self.sample].T
        np.fill_diagonal(estimates, np.inf)  # the query itself
        found = np.argpartition(estimates, _NEAR, axis=1)[:, :_NEAR]
        return float(np.mean([np.isin(a, b).mean() for a, b in zip(self.near, found, strict=True)]))
