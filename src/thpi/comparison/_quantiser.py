"""Codes of a few bytes by residual quantisation, with an offset that is right for the queries near a row."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from thpi import model_file
from thpi._types import Array, Codes, Constraints, Floats, Ints, PathLike, Seed, check_numbers
from thpi.codes import check_codes
from thpi.index import faiss_module
from thpi.kernels.threads import own_threads
from thpi.solvers.blocks import for_blocks
from thpi.solvers.moments import principal_axes

CENTROIDS = 256
_LEAST_COMPONENTS = 128
_LEVEL, _FLOAT = 1, 4  # bytes of an offset
_MOST_BYTES_WITHOUT = 4  # of a code without an offset: the tables of more do not fit into the cache
_LEAST_GAIN = 0.01  # in recall, of a code without an offset, which is slower to search
_NEAR, _QUERIES = 10, 500  # what is sought to choose between them, of how many rows
_SAMPLE = 10_000  # rows whose neighbours are looked at, and among which they are sought
_MOST_ROWS = 2**16  # that centroids are learned from: 256 for each
_MOST_SUMS = 2**14  # the same, if rows are few: also what sums leave that are not their best
_START, _ROUNDS = 0.2, 5  # of k-means
_POSITIVE = Interval(Integral, 1, None, closed="left")


class ResidualQuantiser(TransformerMixin, BaseEstimator):
    """Code dense vectors in ``n_bytes`` bytes for Euclidean search, by sums of centroids and an offset.

    A row x, in leading principal coordinates about the mean, becomes a sum of M centroids, each one of 256:

        x^ = c_1 + ... + c_M,     c_m the nearest centroid of what c_1 ... c_(m-1) leave, by beam search.

    The squared distance of a query q is ``|q|^2 + |x|^2 - 2 <q, x>``, usually estimated by ``|q - x^|^2``. But queries
    near a row are known: they are like x, nearer to the mean. Let s_j be the slope of the mean coordinate j of a row's
    neighbours on its own, over all training rows; then ``s * x`` is the query to expect near x. The offset

        b(x) = |x|^2 - 2 <s * x, x - x^>

    makes the estimate ``|q|^2 + b(x) - 2 <q, x^>`` exact for that query, and right on average for those around it. It
    is kept in one of three ways, with M = n_bytes minus its bytes:

        1 byte    the nearest of 256 levels, the means of the best 256 groups of the offsets of training rows;
        4 bytes   float32, for rows whose lengths differ so much that 256 levels are too coarse;
        0 bytes   |x^|^2 in its place, which follows from the centroids: the usual estimate, with one more centroid.

    ``fit`` takes what finds most of the ten nearest of some training rows. Without an offset a search adds up
    M (M + 1) / 2 numbers in place of M, so that this is tried for at most 4 bytes, and must find one in a hundred more.

    Parameters
    ----------
    n_bytes : bytes of a code: none, one or four of them are the offset, each of the others one of 256 centroids.
    n_components : principal coordinates coded; None: eight per byte and at least 128, capped at the number of features.
    n_neighbours : neighbours of a row that stand for the queries near it.
    beam : sums that are followed at a time; more give better codes and take longer.
    random_state : seed of the centroids.

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
    >>> distances, rows = quantiser.index(codes).search(X[:1].astype("float32"), 1)
    >>> int(rows[0, 0])
    0
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_bytes": [Interval(Integral, 2, None, closed="left")],
        "n_components": [None, _POSITIVE],
        "n_neighbours": [_POSITIVE],
        "beam": [_POSITIVE],
        "random_state": ["random_state"],
    }
    hash_name: ClassVar[None] = None  # model files say so of methods whose codes are their own

    def __init__(
        self, n_bytes: int = 16, *, n_components: int | None = None, n_neighbours: int = 200, beam: int = 5,
        random_state: Seed = None,
    ) -> None:  # fmt: skip
        self.n_bytes, self.n_components, self.n_neighbours = n_bytes, n_components, n_neighbours
        self.beam, self.random_state = beam, random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> ResidualQuantiser:
        """Learn axes, centroids and offsets from the rows of ``X``, at least 256; ``y`` is not used."""
        self._validate_params()
        rows = self._rows(X, reset=True)
        n, d = rows.shape
        if n < CENTROIDS:
            raise ValueError(f"X has {n} rows; {CENTROIDS} centroids need at least as many.")
        rng = check_random_state(self.random_state)
        faiss_module()  # its threads are counted, too
        with own_threads():
            m = max(_LEAST_COMPONENTS, 8 * self.n_bytes) if self.n_components is None else self.n_components
            self.mean_ = np.asarray(rows.mean(axis=0, dtype=np.float64))
            axes = principal_axes(rows, self.mean_.astype(rows.dtype), min(m, d))[0]
            self.axes_ = np.asarray(axes, dtype=np.float64)
            learned = rows[rng.permutation(n)[:_MOST_ROWS]]
            Z = self._coordinates(learned)
            few = slice(_SAMPLE)
            self.slopes_ = _slopes(Z[few], self.n_neighbours)
            centroids, codes = _learned(Z, self.n_bytes - min(self._offset_sizes()), self.beam, rng)
            self._choose(learned[few], Z[few], centroids, [each[few] for each in codes])
        return self

    def _choose(self, rows: Array, Z: Floats, centroids: Array, codes: list[Codes]) -> None:
        """Set the centroids, and the levels of the offsets, with which most of the nearest are found.

        Centroids are learned one after the other: the first ones are those of a shorter code.
        """
        near, best = _near(rows, _QUERIES, _NEAR), -np.inf
        for size in self._offset_sizes():
            self.centroids_, parts = centroids[: self.n_bytes - size], codes[self.n_bytes - size - 1]
            offsets = self._offsets(rows, Z, parts)
            self.offset_levels_ = _levels(offsets) if size == _LEVEL else np.empty(0)
            kept = self._read(self._written(offsets), parts)
            recall = _recall(near, Z, self._decoded(parts), kept) - (0 if size else _LEAST_GAIN)
            if recall > best:
                best, chosen = recall, (self.centroids_, self.offset_levels_)
        self.centroids_, self.offset_levels_ = chosen

    def _offset_sizes(self) -> tuple[int, int]:
        return (_LEVEL, _FLOAT) if self.n_bytes > _MOST_BYTES_WITHOUT else (_LEVEL, 0)

    def transform(self, X: npt.ArrayLike) -> Codes:
        """Return the codes of rows, ``n_bytes`` bytes each: the numbers of the centroids, then the offset."""
        rows = self._rows(X)
        Z = self._coordinates(rows)
        parts = np.empty((len(rows), len(self.centroids_)), dtype=np.uint8)

        def code(block: slice) -> None:
            left, codes = Z[block, None].astype(np.float32), parts[block, None, :0]
            for centroids in self.centroids_:
                left, codes = _followed(left, codes, centroids, self.beam)
            parts[block] = codes[:, 0]

        for_blocks(code, Z)
        return np.hstack([parts, self._written(self._offsets(rows, Z, parts))])

    def distances(self, queries: npt.ArrayLike, codes: npt.ArrayLike) -> Floats:
        """Return estimates of the squared distance of each query to each code: ``|q|^2 + b(x) - 2 <q, x^>``."""
        rows, packed = self._rows(queries), self._checked_codes(codes)
        lengths, (parts, written) = ((rows - self.mean_) ** 2).sum(axis=1), np.split(packed, [len(self.centroids_)], 1)
        products = self._coordinates(rows) @ self._decoded(parts).T
        return np.asarray(lengths[:, None] + self._read(written, parts) - 2 * products)

    def index(self, codes: npt.ArrayLike) -> Any:
        """Return an index of faiss over codes: it searches rows as they are, and ``faiss.write_index`` writes it.

        Its distances are those of :meth:`distances` without what the axes leave of the query, which all rows share.
        """
        faiss, packed = faiss_module(), self._checked_codes(codes)
        kinds = {_LEVEL: "ST_norm_cqint8", _FLOAT: "ST_norm_float", 0: "ST_norm_from_LUT"}
        kind = getattr(faiss.AdditiveQuantizer, kinds[self._offset_size])
        inner = faiss.IndexResidualQuantizer(self.axes_.shape[1], len(self.centroids_), 8, faiss.METRIC_L2, kind)
        faiss.copy_array_to_vector(np.float32(self.centroids_).ravel(), inner.rq.codebooks)
        inner.rq.is_trained = inner.is_trained = True
        if self._offset_size == _LEVEL:
            inner.rq.qnorm.add(self.offset_levels_.astype(np.float32)[:, None])  # where faiss keeps levels of |x^|^2
        if self._offset_size == 0:
            inner.rq.compute_codebook_tables()
        faiss.copy_array_to_vector(packed.ravel(), inner.codes)
        step = faiss.LinearTransform(*self.axes_.shape, True)
        faiss.copy_array_to_vector(np.float32(self.axes_.T).ravel(), step.A)
        faiss.copy_array_to_vector(np.float32(-self.mean_ @ self.axes_), step.b)
        step.is_trained = True
        index = faiss.IndexPreTransform(step, inner)
        index.ntotal = inner.ntotal = len(packed)
        return index

    def save(self, path: PathLike) -> None:
        """Write the quantiser to a file in one step; see :mod:`thpi.model_file`."""
        check_is_fitted(self)
        model_file.save(self, path)

    @classmethod
    def load(cls, path: PathLike) -> ResidualQuantiser:
        """Read a quantiser that :meth:`save` wrote; nothing in the file is executed."""
        return model_file.load(path, {cls.__name__: cls})

    def check_fitted(self) -> None:
        d, m = self.n_features_in_, self.axes_.shape[1]
        if self._offset_size not in self._offset_sizes():
            raise model_file.ModelFileError(f"it has {len(self.centroids_)} centroids a row for {self.n_bytes} bytes.")
        wanted = {"mean_": (d,), "axes_": (d, m), "slopes_": (m,), "centroids_": (len(self.centroids_), CENTROIDS, m)}
        wanted["offset_levels_"] = (CENTROIDS if self._offset_size == _LEVEL else 0,)
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                raise model_file.ModelFileError(f"its array {name} does not have shape {shape}.")

    def _rows(self, X: npt.ArrayLike, *, reset: bool = False) -> Array:
        if not reset:
            check_is_fitted(self)
        return np.asarray(validate_data(self, check_numbers("X", X), dtype=[np.float64, np.float32], reset=reset))

    def _checked_codes(self, codes: npt.ArrayLike) -> Codes:
        check_is_fitted(self)
        packed = check_codes(codes)
        if packed.shape[1] != self.n_bytes:
            raise ValueError(f"codes has {packed.shape[1]} bytes per row; n_bytes={self.n_bytes} needs as many.")
        return packed

    def _coordinates(self, rows: Array) -> Floats:
        return np.asarray((rows - self.mean_) @ self.axes_)

    def _decoded(self, parts: Codes) -> Floats:
        total = np.zeros((len(parts), self.centroids_.shape[2]))
        for column, centroids in zip(parts.T, self.centroids_, strict=True):
            total += centroids[column]
        return total

    @property
    def _offset_size(self) -> int:
        return int(self.n_bytes) - len(self.centroids_)

    def _offsets(self, rows: Array, Z: Floats, parts: Codes) -> Floats:
        lengths = ((rows - self.mean_) ** 2).sum(axis=1)
        return np.asarray(lengths - 2 * (Z * self.slopes_ * (Z - self._decoded(parts))).sum(axis=1))

    def _written(self, offsets: Floats) -> Codes:
        """Return the bytes of offsets; of a level, the number of the nearest."""
        if self._offset_size == _LEVEL:
            bounds = (self.offset_levels_[1:] + self.offset_levels_[:-1]) / 2
            return np.searchsorted(bounds, offsets).astype(np.uint8)[:, None]
        return offsets.astype("<f4")[:, None].view(np.uint8)[:, : self._offset_size]

    def _read(self, written: Codes, parts: Codes) -> Floats:
        """Return the offsets that bytes say; without a byte it is the squared length of the sum of the centroids."""
        if written.shape[1] == _LEVEL:
            return np.asarray(self.offset_levels_[written[:, 0]])
        if written.shape[1] == _FLOAT:
            return np.asarray(np.ascontiguousarray(written).view("<f4")[:, 0], dtype=np.float64)
        return np.asarray((self._decoded(parts) ** 2).sum(axis=1))


def _learned(Z: Floats, n_parts: int, beam: int, rng: np.random.RandomState) -> tuple[Array, list[Codes]]:
    """Return the centroids, and the codes of the rows by the first of them, by the first two, and so on.

    Few rows have several sums each in k-means, so that centroids do not fit just these rows.
    """
    n, d = Z.shape
    learned, found = [], []
    left, codes = Z.astype(np.float32)[:, None], np.empty((n, 1, 0), dtype=np.uint8)
    for _ in range(n_parts):
        learned.append(_means(left[:, : max(1, _MOST_SUMS // n)].reshape(-1, d), rng))
        left, codes = _followed(left, codes, learned[-1], beam)
        found.append(codes[:, 0])
    return np.array(learned), found


def _followed(left: Array, codes: Codes, centroids: Array, beam: int) -> tuple[Array, Codes]:
    """Add a centroid to sums: the best ``beam`` for each row, as what they leave (n, beam, d) and as codes.

    The squared length of what a sum leaves falls by ``2 <left, c> - |c|^2``. The best come first.
    """
    n, followed, d = left.shape
    width, lengths = min(beam, followed * len(centroids)), (centroids * centroids).sum(axis=1)
    left_then = np.empty((n, width, d), dtype=np.float32)
    codes_then = np.empty((n, width, codes.shape[2] + 1), dtype=np.uint8)

    def follow(rows: slice) -> None:
        some = left[rows]
        squares = (some.reshape(-1, d) @ (-2 * centroids.T)).reshape(-1, followed, len(centroids))
        squares += np.einsum("nbd,nbd->nb", some, some)[:, :, None] + lengths
        squares = squares.reshape(len(some), -1)
        every, best = np.arange(len(some)), np.empty((len(some), width), dtype=np.int64)
        for column in best.T:  # faster than a partition of all, and ties go to the first
            column[:] = squares.argmin(axis=1)
            squares[every, column] = np.inf
        parents, chosen = np.divmod(best, len(centroids))
        left_then[rows] = some[every[:, None], parents] - centroids[chosen]
        codes_then[rows, :, :-1], codes_then[rows, :, -1] = codes[rows][every[:, None], parents], chosen

    for_blocks(follow, left[:, 0])
    return left_then, codes_then


def _means(rows: Array, rng: np.random.RandomState) -> Array:
    """Return 256 centroids by a few rounds of k-means, which start from rows drawn and divided by five.

    In many dimensions a row is near to itself alone, but short ones are directions, whose clusters are of like sizes.
    """
    start = rows[rng.permutation(len(rows))[:CENTROIDS]] * np.float32(_START)
    few = {"min_points_per_centroid": 1, "seed": rng.randint(1, 2**31 - 1)}  # or faiss prints a warning about few rows
    clusters = faiss_module().Kmeans(rows.shape[1], CENTROIDS, niter=_ROUNDS, **few)
    clusters.train(np.ascontiguousarray(rows), init_centroids=start)
    return np.asarray(clusters.centroids)


def _levels(offsets: Floats) -> Floats:
    """Return the means of the 256 groups with the least squared deviations, rising."""
    distinct = np.unique(np.float32(offsets))
    if len(distinct) <= CENTROIDS:
        return np.pad(distinct.astype(np.float64), (0, CENTROIDS - len(distinct)), mode="edge")
    clustering = faiss_module().Clustering1D(CENTROIDS)
    clustering.train_exact(np.sort(np.float32(offsets))[:, None])
    return np.sort(faiss_module().vector_to_array(clustering.centroids)).astype(np.float64)


def _slopes(Z: Floats, n_neighbours: int) -> Floats:
    """Slope of the mean coordinate of a row's neighbours on its own: sum x y / sum x^2, for each coordinate."""
    near = _near(Z, len(Z), min(n_neighbours, max(1, len(Z) // 4)))
    n, k = near.shape
    means = sparse.csr_array((np.full(n * k, 1 / k), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)) @ Z
    squares = (Z**2).sum(axis=0)
    return np.asarray((Z * means).sum(axis=0) / np.where(squares > 0, squares, 1))


def _near(rows: Array, n_queries: int, k: int) -> Ints:
    """Positions of the ``k`` rows nearest to each of the first rows, without itself."""
    some = np.ascontiguousarray(rows, dtype=np.float32)
    return np.asarray(faiss_module().knn(some[:n_queries], some, k + 1)[1][:, 1:])  # the first is itself, or its double


def _recall(near: Ints, Z: Floats, decoded: Floats, offsets: Floats) -> float:
    """Return the share of the nearest rows of the first ones that ``b(x) - 2 <q, x^>`` finds among as many."""
    estimates = offsets - 2 * Z[: len(near)] @ decoded.T
    np.fill_diagonal(estimates, np.inf)  # the query itself
    found = np.argpartition(estimates, near.shape[1], axis=1)[:, : near.shape[1]]
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(near, found, strict=True)]))
