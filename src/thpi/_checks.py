"""Checks of input matrices that scikit-learn does not make, or whose messages do not name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_array

from thpi.rows import as_rows
from thpi.solvers.blocks import spread

__all__ = ["FLOATS", "check_magnitude", "check_rows", "gathered", "named_errors", "some_rows"]

FLOATS = [np.float64, np.float32]


def gathered(value: Any) -> Any:
    """Bring rows that are elsewhere into memory; leave others as they are."""
    rows = as_rows(value)
    return value if rows is None else rows.gather()


def some_rows(value: Any, most: int) -> Any:
    """Bring at most so many rows, evenly spaced, into memory; of fewer all."""
    rows = as_rows(value)
    n = _num_samples(value) if rows is None else rows.shape[0]
    if n <= most:
        return gathered(value)
    some = spread(n, most)
    return _safe_indexing(value, some) if rows is None else rows.take(some)


def check_rows(name: str, value: Any, dtype: Any, min_rows: int = 1) -> Any:
    """Give rows, dense or CSR, in the type of the target rows."""
    options = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_min_samples": min_rows, "input_name": name}
    matrix = named_errors(name, lambda: check_array(value, **options))
    check_magnitude(name, matrix, dtype)
    return matrix.astype(dtype, copy=False)


def check_magnitude(name: str, X: Any, dtype: Any = None) -> None:
    """Refuse numbers whose squares, summed over rows or columns, would overflow the type (default: that of X)."""
    dtype = X.dtype if dtype is None else np.dtype(dtype)
    values = X.data if sparse.issparse(X) else X
    largest = max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))
    allowed = float(np.sqrt(np.finfo(dtype).max / max(1, *X.shape)) / 10)
    if largest > allowed:
        raise ValueError(f"{name} holds {largest:.3g}; numbers of {dtype} must not exceed {allowed:.3g} in size.")


def named_errors(name: str, check: Any) -> Any:
    """Run a check of scikit-learn's; where its message does not name the argument, put the name before it."""
    try:
        return check()
    except (ValueError, TypeError) as error:
        if name in str(error).split() or type(error) not in (ValueError, TypeError):
            raise
        raise type(error)(f"{name}: {error}") from error
