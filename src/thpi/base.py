"""BaseHasher and the rows it learns from: validation, centring, saving. A method's file holds only its mathematics."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from thpi._types import (
    Array,
    Codes,
    Constraints,
    Fitted,
    MatrixLike,
    PathLike,
    Seed,
    check_numbers,
)
from thpi.codes import n_bytes
from thpi.encoder import Coding, column_names, sums_up
from thpi.hash_functions import ITEM_PARTS, HashFunction, hash_function_of
from thpi.identity import fingerprint
from thpi.kernels.threads import small_products
from thpi.model_file import save
from thpi.rows import Rows
from thpi.views import (
    FLOATS,
    TooManyBitsError,
    Views,
    Whole,
    checked_views,
    dimension_limit,
    named_errors,
    pair_limit,
    some_rows,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BaseHasher", "TooManyBitsError", "Views", "Whole", "dimension_limit", "pair_limit", "some_rows"]

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
        views = checked_views(self, X, y, privileged, source, target)
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
