"""The rows that a method learns from: checked, aligned, and with what depends on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_array, validate_data

from thpi._types import (
    Array,
    DType,
    InMemory,
    Ints,
    MatrixLike,
    check_numbers,
    is_sparse,
)
from thpi.pairing import align, check_index
from thpi.rows import Rows, as_rows
from thpi.solvers.blocks import spread
from thpi.solvers.moments import EXACT_LIMIT, column_mean

if TYPE_CHECKING:
    from thpi.base import BaseHasher

__all__ = ["TooManyBitsError", "Views", "Whole", "checked_views", "dimension_limit", "pair_limit", "some_rows"]

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


def checked_views(hasher: BaseHasher, X: Any, y: Any, privileged: Any, source: Any, target: Any) -> Views:
    """Check the arguments of ``fit`` and return the rows that the method learns from, those that it uses."""
    uses_pairs = hasher.needs_privileged or hasher.uses_source
    source, target = (rows.array if isinstance(rows, Whole) else rows for rows in (source, target))
    if hasattr(X, "columns") or hasattr(privileged, "columns"):  # rows with names
        if uses_pairs:
            check_index("privileged", privileged, X)
            source = align("source", source, "privileged", privileged)
        if hasher.uses_target:
            target = align("target", target, "X", X)
        if hasher.uses_labels:
            check_index("y", y, X)
    X = _check_target(hasher, X)
    S = _check_privileged(hasher, X, privileged, source) if uses_pairs else None
    S_U = _check_source(hasher, X, S, source) if S is not None and hasher.uses_source and source is not None else None
    X_more = None
    if hasher.uses_target and target is not None:
        X_more = check_rows("target", some_rows(target, MAX_TARGET), X.dtype, min_rows=0)
        _check_width("target", X_more, "X", X)
    labels = _check_labels(y, X.shape[0]) if hasher.uses_labels and y is not None else None
    dtype = X.dtype
    X, S, S_U, X_more = _alike(X, S, S_U, X_more)
    return Views(X, S, S_U, X_more, labels, dtype)


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
