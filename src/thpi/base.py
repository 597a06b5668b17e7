"""BaseHasher and the rows it learns from: validation, centring, saving. A method's file holds only its mathematics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_array, check_is_fitted, validate_data

from thpi._types import (
    Array,
    Codes,
    Constraints,
    DType,
    Fitted,
    InMemory,
    Ints,
    MatrixLike,
    PathLike,
    Seed,
    check_numbers,
    is_sparse,
)
from thpi.codes import n_bytes
from thpi.encoder import Coding, column_names, sums_up
from thpi.hash_functions import ITEM_PARTS, HashFunction, hash_function_of
from thpi.identity import fingerprint
from thpi.kernels.threads import small_products
from thpi.model_file import save
from thpi.pairing import align, check_index
from thpi.rows import Rows, as_rows
from thpi.solvers.blocks import spread
from thpi.solvers.moments import EXACT_LIMIT, column_mean

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BaseHasher", "TooManyBitsError", "Views", "Whole", "dimension_limit", "pair_limit", "some_rows"]

MAX_TARGET = 20_000  # further target rows that take part: more add little, and each is held in double precision
SMALL = 2**23  # up to this many numbers are learned from in double precision and in the order of C
FLOATS = [np.float64, np.float32]

T = TypeVar("T")


class TooManyBitsError(ValueError):
    """``n_bits`` is more than a method can give for these data."""


class Whole:
    """Mark ``source`` or ``target`` as rows that cross-validation must not split.

    ``GridSearchCV`` and ``cross_validate`` split every fit argument that has as many rows as ``X``. Unpaired rows must
    never be split: ``source=Whole(S)`` and ``target=Whole(X)`` are passed on unchanged, whatever their length.
    """

    def __init__(self, array: MatrixLike) -> None:
        self.array = array


@dataclass(eq=False)
class Views:
    """The validated rows that a method learns from; all but ``X`` may be None."""

    X: Any  # target rows
    S: Any = None  # source rows paired with them
    S_U: Any = None  # source rows without a target row
    X_more: InMemory | None = None  # target rows without a source
    y: Array | None = None  # labels of X
    dtype: DType | None = None  # in which the target rows were given: the model keeps it

    def __post_init__(self) -> None:
        if self.dtype is None:
            self.dtype = self.X.dtype
        self.mean = column_mean(self.all_target)  # of all target rows

    def take(self, rows: Ints) -> Views:
        """Some of the pairs."""
        X, S, y = (None if part is None else part[rows] for part in (self.X, self.S, self.y))
        return replace(self, X=X, S=S, y=y)

    def with_source(self, more: InMemory) -> Views:
        """The same with further unpaired source rows."""
        return replace(self, S_U=more if self.S_U is None else _stacked(self.S_U, more))

    @property
    def given(self) -> Any:
        """The target rows in the type in which they were given."""
        return self.X if self.X.dtype == self.dtype else self.X.astype(self.dtype)

    @cached_property
    def all_target(self) -> Any:
        """Paired target rows first, unpaired ones after them."""
        return self.X if self.X_more is None else _stacked(self.X, self.X_more)

    @property
    def all_source(self) -> Any:
        """Paired source rows first, unpaired ones after them: X_S of the paper."""
        if self.S_U is None:
            return self.S
        if isinstance(self.S_U, Rows):
            # Rows that are read in blocks are dense.
            return self.S_U.below(self.S.toarray() if sparse.issparse(self.S) else self.S)
        return _stacked(self.S, self.S_U)


def _stacked(first: InMemory, second: InMemory) -> Any:
    if second.shape[0] == 0:
        return first  # without a copy
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second], format="csr")
    return np.vstack([cast("Array", first), cast("Array", second)])


def dimension_limit(views: Views) -> tuple[int, str]:
    """Limit of the methods that take one orthogonal direction of the target rows per bit."""
    n, d = views.all_target.shape
    return max(1, min(d, n - 1)), f"the smaller of n_features={d} and n_samples - 1={n - 1}"


def pair_limit(views: Views) -> tuple[int, str]:
    """Limit of the methods that take one pair of canonical directions per bit."""
    n, d = views.X.shape
    d_S = views.S.n_columns if isinstance(views.S, Rows) else views.S.shape[1]
    reason = f"the smallest of n_features={d}, privileged columns={d_S} and n_samples - 1={n - 1}"
    return max(1, min(d, d_S, n - 1)), reason


def _alike(*parts: Any) -> Any:
    """Bring all rows in memory to one type, that of the first; if they are few, to double precision and order of C.

    Products round differently in single precision and in another order, and a search from many starts may then end
    elsewhere: the same few rows must give the same answer, whatever they come in.
    """
    dtype = parts[0].dtype
    held = [part for part in parts if part is not None]
    sizes = [np.inf if isinstance(part, Rows) else part.data.size if is_sparse(part) else part.size for part in held]
    few = sum(sizes) <= SMALL

    def alike(part: Any) -> Any:
        if part is None or isinstance(part, Rows):
            return part
        if few and not is_sparse(part):
            return np.ascontiguousarray(part, dtype=np.float64)
        return part.astype(np.float64 if few else dtype, copy=False)

    return [alike(part) for part in parts]


def _check_target(hasher: BaseHasher, X: Any) -> Any:
    rows = elsewhere(X)
    if rows is None:
        options = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_min_samples": 2}
        X = named_errors("X", lambda: validate_data(hasher, check_numbers("X", X), **options))
        check_magnitude("X", X)
        return X
    if rows.n_columns > EXACT_LIMIT:
        raise ValueError(f"X has {rows.n_columns} columns; rows that are not in memory may have {EXACT_LIMIT}.")
    if rows.moments().n < 2:
        raise ValueError("X has 1 row; at least 2 are needed.")
    if not hasher.streams:
        return _check_target(hasher, rows.gather())
    hasher.n_features_in_ = rows.n_columns
    hasher.__dict__.pop("feature_names_in_", None)
    return rows


def _check_privileged(hasher: BaseHasher, X: Any, privileged: Any, source: Any) -> Any:
    if privileged is None:
        if hasher.needs_privileged:
            needed = "privileged=..., the source rows paired with the rows of X"
            raise ValueError(f"{type(hasher).__name__} needs {needed}; got privileged=None.")
        if source is not None:
            raise ValueError("source needs privileged=...: without pairs nothing says what its rows are.")
        return None
    rows = elsewhere(privileged)
    if rows is not None and isinstance(X, Rows):
        return rows  # their number is checked when both are read side by side
    S = check_rows("privileged", privileged if rows is None else rows.gather(), X.dtype)
    if S.shape[0] != X.shape[0]:
        raise ValueError(f"privileged has {S.shape[0]} rows and X has {X.shape[0]}; row i of both must be one item.")
    return S


def _check_source(hasher: BaseHasher, X: Any, S: Any, source: Any) -> Any:
    S_U: Any = elsewhere(source)
    if S_U is None or not hasher.streams_source:
        if S_U is not None:
            # Rows that are elsewhere need not all be brought here if only some are used.
            source = some_rows(S_U, max(1, getattr(hasher, "max_unpaired", S_U.shape[0])))
        S_U = check_rows("source", source, X.dtype, min_rows=0)
    _check_width("source", S_U, "privileged", S)
    return S_U


def _check_width(name: str, rows: Any, like_name: str, like: Any) -> None:
    n, wanted = rows.shape[1], like.shape[1]
    if n != wanted:
        raise ValueError(f"{name} has {n} columns and {like_name} has {wanted}; both must have the same.")


def _check_labels(y: Any, n: int) -> Array:
    if np.ma.is_masked(y):
        raise ValueError("y is a masked array with masked entries; every row needs its label. Leave the others out.")
    labels = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if labels.ndim not in (1, 2) or labels.shape[0] != n:
        raise ValueError(f"y has shape {labels.shape}; it needs one class, or one row of tags, for each of {n} rows.")
    return labels if labels.ndim == 1 else np.asarray(labels != 0)


def elsewhere(X: object) -> Rows | None:
    """Return rows that are not in memory, to be read in blocks; None for all others."""
    return None if type(X) is np.ndarray or is_sparse(X) else as_rows(X)


def some_rows(value: T, most: int) -> T | Array:
    """Bring at most ``most`` rows, evenly spaced, into memory."""
    rows = elsewhere(value)
    n = _num_samples(value) if rows is None else rows.shape[0]
    if n <= most:
        return value if rows is None else rows.gather()
    some = spread(n, most)
    taken: T | Array = _safe_indexing(value, some) if rows is None else rows.take(some)
    return taken


def check_rows(name: str, value: object, dtype: npt.DTypeLike, min_rows: int = 1) -> InMemory:
    """Return rows, dense or CSR, as finite numbers whose squares do not overflow the given type."""
    options = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_min_samples": min_rows, "input_name": name}
    matrix: InMemory = named_errors(name, lambda: check_array(check_numbers(name, value), **options))
    check_magnitude(name, matrix, dtype)
    return matrix


def check_magnitude(name: str, X: InMemory, dtype: npt.DTypeLike | None = None) -> None:
    """Refuse numbers whose squares, summed over rows or columns, would overflow the type (default: that of X)."""
    dtype = X.dtype if dtype is None else np.dtype(dtype)
    values = X.data if is_sparse(X) else np.asarray(X)
    largest = max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))
    allowed = float(np.sqrt(np.finfo(dtype).max / max(1, *X.shape)) / 10)
    if largest > allowed:
        raise ValueError(f"{name} holds {largest:.3g}; numbers of {dtype} must not exceed {allowed:.3g} in size.")


def named_errors(name: str, check: Callable[[], T]) -> T:
    """Run a check of scikit-learn; if its message does not name the argument, put the name before it."""
    try:
        return check()
    except (ValueError, TypeError) as error:
        if name in str(error).split() or type(error) not in (ValueError, TypeError):
            raise
        raise type(error)(f"{name}: {error}") from error


MEASURED = 10_000  # training rows over which projections are measured at most, evenly spaced


def parameter(default: Any, *allowed: object) -> Any:
    """A parameter that may be any of these types or constraints of scikit-learn."""
    return field(default=default, metadata={"allowed": list(allowed)})


def weight(default: float, closed: Literal["left", "neither"] = "left") -> Any:
    """A number of at least 0; with ``closed="neither"`` above 0."""
    return parameter(default, Interval(Real, 0, None, closed=closed))


def count(default: int, least: int = 1) -> Any:
    """A whole number of at least ``least``."""
    return parameter(default, Interval(Integral, least, None, closed="left"))


def one_of(default: str, *others: str) -> Any:
    """One of the words."""
    return parameter(default, StrOptions({default, *others}))


@dataclass(eq=False, repr=False)
class BaseHasher(Coding, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Common ground of all hashing methods.

    A subclass says in ``_max_bits`` how many bits the data allow, and returns its fitted attributes from ``_fit``, at
    least ``projection_``. The hash function is ``sgn((x - mean_) projection_ - offset_)``, without ``offset_`` if
    there is none. A method with another one overrides ``_hash_function`` (:mod:`thpi.hash_functions`) or ``_project``.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code. A method that limits it says so.
    random_state : int, RandomState or None, default=None
        Seed of all that is random in a method; methods that are not random accept it, so that all are built alike.

    Attributes
    ----------
    mean_, projection_, offset_ : array
        The hash function.
    codes_ : uint8 array of shape (n_samples, ceil(n_bits / 8))
        Codes of the training rows; empty if these are on a cluster.
    objective_, n_iter_, converged_ : array, int, bool
        The objective after each iteration, their number, and whether ``tol`` was met.
    """

    summary: ClassVar[str] = ""  #: What the method does, in one line: for lists and tables.
    needs_privileged: ClassVar[bool] = False  #: Whether ``privileged`` must be given.
    uses_source: ClassVar[bool] = False
    """Whether unpaired source rows are used. Such a method uses ``privileged`` where it is given."""
    uses_target: ClassVar[bool] = False  #: Whether further target rows, without a source, are used.
    uses_labels: ClassVar[bool] = False  #: Whether ``y`` is used.
    streams: ClassVar[bool] = False
    """Whether target rows are read in blocks only; otherwise they are brought into memory."""
    streams_source: ClassVar[bool] = False  #: The same for unpaired source rows.
    hash_parts: ClassVar[tuple[str, ...]] = ("mean_", "projection_", "offset_", *ITEM_PARTS)
    """Fitted attributes that decide the codes of new rows. A method that overrides ``_project`` names all it reads."""

    n_bits: int = count(32)
    random_state: Seed = field(default=None, kw_only=True, metadata={"allowed": ["random_state"]})
    mean_: Array = field(init=False)
    projection_: Array = field(init=False)
    offset_: Array = field(init=False)  # only where there is one
    item_mean_: Array = field(init=False)  # only of two-sided models, with the next
    item_projection_: Array = field(init=False)
    item_names_: list[str] = field(init=False)  # names of the source's columns, if they had names
    codes_: Codes = field(init=False)  # empty if the training rows are on a cluster
    objective_: Array = field(init=False)
    n_iter_: int = field(init=False)
    converged_: bool = field(init=False)
    n_features_in_: int = field(init=False)
    # The projections of the training rows, bit by bit; see thpi.drift. Not there if the rows are on a cluster.
    bit_share_: Array = field(init=False)
    projection_mean_: Array = field(init=False)
    projection_scale_: Array = field(init=False)
    n_measured_: int = field(init=False)

    @property
    def _parameter_constraints(self) -> Constraints:
        return {each.name: each.metadata["allowed"] for each in fields(self) if "allowed" in each.metadata}

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        """Learn the hash functions and return the fitted attributes."""
        raise NotImplementedError  # pragma: no cover

    def _max_bits(self, views: Views) -> tuple[int, str] | None:
        """Return the largest ``n_bits`` these data allow and the reason, or None if there is no limit."""
        return None

    @property
    def _hash_function(self) -> HashFunction:
        return hash_function_of(vars(self))

    def _project(self, X: Any) -> Array:
        return self._hash_function.project(X, vars(self))

    @property
    def hash_name(self) -> str | None:
        """Name of the hash function in model files; None if it is the method's own."""
        return self._hash_function.name if type(self)._project is BaseHasher._project else None

    @property
    def method_name(self) -> str:
        """Name of the method in the registry."""
        return type(self).__name__

    def fit(
        self,
        X: MatrixLike,
        y: Any = None,
        *,
        privileged: MatrixLike | None = None,
        source: MatrixLike | Whole | None = None,
        target: MatrixLike | Whole | None = None,
    ) -> Self:
        """Learn hash functions for the target domain. A method ignores the arguments that it does not use.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), dask array, or :mod:`thpi.rows`
            Target rows.
        y : array-like of shape (n_samples,) or (n_samples, n_tags), optional
            Classes of the rows, or an indicator of their tags.
        privileged : array-like or sparse matrix of shape (n_samples, n_source_features), optional
            Source rows paired with the rows of ``X``.
        source : array-like or sparse matrix of shape (any, n_source_features), or Whole, optional
            Source rows that have no target row. Needs ``privileged``.
        target : array-like or sparse matrix of shape (any, n_features), or Whole, optional
            Target rows that have neither source nor label. They take part in whatever needs neither: mean, scatter,
            quantisation, neighbours and groups of the target. At most 20,000 are used, evenly spaced.

        Returns
        -------
        self
            If anything is wrong, an error is raised and the estimator stays as it was.
        """
        before = dict(vars(self))
        try:
            self._validate_params()
            views = self.check_views(X, y, privileged, source, target)
            for name in set(vars(self)) - {"n_features_in_", "feature_names_in_"}:
                if name.endswith("_") and not name.startswith("_"):
                    delattr(self, name)
            with small_products(self._n_read(views)):
                self.set_fitted(views, self._fit(views, check_random_state(self.random_state)))
                if self.is_two_sided and (names := column_names(privileged)) is not None:
                    self.item_names_ = names
                if not hasattr(self, "codes_"):
                    # The codes of rows on a cluster stay there: transform gives them.
                    remote = isinstance(views.X, Rows) and views.X.remote
                    empty = np.empty((0, n_bytes(self.n_bits)), np.uint8)
                    self.codes_ = empty if remote else self._encode_finite(views.given)[0]
                self._measure(views.given)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _n_read(self, views: Views) -> int:
        """Number of rows of the larger view, unless the method takes only some of the source rows."""
        n: int = views.X.shape[0]
        return n if views.S_U is None or hasattr(self, "max_unpaired") else max(n, views.S_U.shape[0])

    def set_fitted(self, views: Views, fitted: Fitted) -> Self:
        """Set what was learned from the rows, as ``fit`` does."""
        defaults = {"mean_": views.mean, "objective_": np.empty(0), "converged_": True}
        found: Fitted = defaults | fitted
        for name, value in found.items():
            # Few rows are learned from in double precision; the model has the type of the rows, as its codes do.
            kept = np.ndim(value) and (name in self.hash_parts or name.endswith(("mean_", "projection_")))
            setattr(self, name, value.astype(views.dtype, copy=False) if kept else value)
        self.n_iter_ = getattr(self, "n_iter_", len(self.objective_))
        return self

    @property
    def fingerprint_(self) -> str:
        """Identity of the hash function, 16 hexadecimal digits: codes carry it; see :mod:`thpi.identity`."""
        check_is_fitted(self, "projection_")
        order = type(self).__mro__
        projects, named = (next(c for c in order if name in vars(c)) for name in ("_project", "hash_parts"))
        if order.index(projects) < order.index(named):
            raise TypeError(f"{projects.__name__} overrides _project; it must name what that reads in hash_parts.")
        parts = {name: getattr(self, name) for name in self.hash_parts if hasattr(self, name)}
        return fingerprint(self.n_bits, parts)

    def _measure(self, X: Any) -> None:
        """Keep the projections' mean, spread and signs, with which :mod:`thpi.drift` compares new rows."""
        if isinstance(X, Rows) and X.remote:
            return  # another pass over a cluster is not worth it
        projections = self._project(some_rows(X, MEASURED))
        values = projections.astype(np.float64)
        self.bit_share_ = (projections >= 0).mean(axis=0)
        self.projection_mean_, self.projection_scale_ = values.mean(axis=0), values.std(axis=0)
        self.n_measured_ = len(values)

    def transform(self, X: MatrixLike) -> Codes:
        """Packed codes (uint8), shape (n_samples, ceil(n_bits / 8)); see :mod:`thpi.codes` for the bytes.

        For a dask array the codes are a dask array too, computed when needed.
        """
        # Defined here, because scikit-learn wraps the transform of its own subclasses only (set_output).
        return self._encode(X)

    def save(self, path: PathLike) -> None:
        """Write the fitted hasher to one file that :func:`thpi.load` reads; see :mod:`thpi.model_file`."""
        check_is_fitted(self, "projection_")
        save(self, path)

    def check_views(self, X: Any, y: Any, privileged: Any, source: Any, target: Any) -> Views:
        """Check the arguments of ``fit`` and return the rows that the method learns from, those that it uses."""
        uses_pairs = self.needs_privileged or self.uses_source
        source, target = (rows.array if isinstance(rows, Whole) else rows for rows in (source, target))
        if hasattr(X, "columns") or hasattr(privileged, "columns"):  # rows with names
            if uses_pairs:
                check_index("privileged", privileged, X)
                source = align("source", source, "privileged", privileged)
            if self.uses_target:
                target = align("target", target, "X", X)
            if self.uses_labels:
                check_index("y", y, X)
        X = _check_target(self, X)
        S = _check_privileged(self, X, privileged, source) if uses_pairs else None
        S_U = _check_source(self, X, S, source) if S is not None and self.uses_source and source is not None else None
        X_more = None
        if self.uses_target and target is not None:
            X_more = check_rows("target", some_rows(target, MAX_TARGET), X.dtype, min_rows=0)
            _check_width("target", X_more, "X", X)
        labels = _check_labels(y, X.shape[0]) if self.uses_labels and y is not None else None
        dtype = X.dtype
        X, S, S_U, X_more = _alike(X, S, S_U, X_more)
        views = Views(X, S, S_U, X_more, labels, dtype)
        self.check_bits(views)
        return views

    def check_bits(self, views: Views) -> None:
        """Raise :class:`TooManyBitsError` if the rows do not allow ``n_bits``."""
        limit = self._max_bits(views)
        if limit is not None and self.n_bits > limit[0]:
            asked = f"n_bits={self.n_bits} is more than {type(self).__name__} can give for these data"
            raise TooManyBitsError(f"{asked}: at most {limit[0]}, {limit[1]}.")

    def _check_new(self, X: Any, finite: bool = True) -> Any:
        if "projection_" not in vars(self):
            check_is_fitted(self, "projection_")
        return super()._check_new(X, finite)

    def _check_in_memory(self, X: Any, finite: bool) -> Any:
        if self._is_ready(X) and (not finite or sums_up(X)):
            return X
        options = {"accept_sparse": "csr", "dtype": FLOATS, "reset": False, "ensure_all_finite": finite}
        return named_errors("X", lambda: validate_data(self, check_numbers("X", X), **options))

    def _is_ready(self, X: Any) -> bool:
        """Whether scikit-learn's checks, which take longer than coding a row, would return ``X`` as it is."""
        names = "feature_names_in_" in vars(self) or "n_features_in_" not in vars(self)
        return not names and super()._is_ready(X)

    def check_fitted(self) -> None:
        """Raise ``ValueError`` unless the fitted attributes fit each other: they may come from a damaged file."""
        self._hash_function.check(vars(self), self.n_features_in_, self.n_bits)
        if self.is_two_sided:
            self.source_side.check()
        if self.codes_.ndim != 2 or self.codes_.shape[1] != n_bytes(self.n_bits) or self.codes_.dtype != np.uint8:
            raise ValueError(f"codes_ {self.codes_.shape} does not fit {self.n_bits} bits")

    @property
    def _n_features_out(self) -> int:
        return n_bytes(self.n_bits)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # codes are bytes, whatever came in
        return tags
