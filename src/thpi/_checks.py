"""Checks of input matrices beyond those of scikit-learn, with messages that name the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_array

from thpi._types import Array, InMemory, is_sparse
from thpi.rows import as_rows
from thpi.solvers.blocks import spread

FLOATS = [np.float64, np.float32]

T = TypeVar("T")


def gathered(value: T) -> T | Array:
    """Bring rows that are not in memory into memory; return anything else unchanged."""
    rows = as_rows(value)
    return value if rows is None else rows.gather()


def some_rows(value: T, most: int) -> T | Array:
    """Bring at most ``most`` rows, evenly spaced, into memory."""
    rows = as_rows(value)
    n = _num_samples(value) if rows is None else rows.shape[0]
    if n <= most:
        return gathered(value)
    some = spread(n, most)
    taken: T | Array = _safe_indexing(value, some) if rows is None else rows.take(some)
    return taken


def check_rows(name: str, value: object, dtype: npt.DTypeLike, min_rows: int = 1) -> InMemory:
    """Return rows, dense or CSR, as finite numbers of the given type."""
    options = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_min_samples": min_rows, "input_name": name}
    matrix: InMemory = named_errors(name, lambda: check_array(value, **options))
    check_magnitude(name, matrix, dtype)
    return matrix.astype(dtype, copy=False)


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
