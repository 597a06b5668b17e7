"""Checks of input matrices that scikit-learn does not make, or whose messages do not name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from thpi.rows import as_rows

__all__ = ["FLOATS", "check_magnitude", "check_source", "gathered", "named_errors"]

FLOATS = [np.float64, np.float32]


def gathered(value: Any) -> Any:
    """Bring rows that are elsewhere into memory; leave others as they are."""
    rows = as_rows(value)
    return value if rows is None else rows.gather()


def check_source(name: str, value: Any, min_rows: int = 1) -> Any:
    """Give source rows as floats, dense or CSR."""
    options = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_min_samples": min_rows, "input_name": name}
    matrix = named_errors(name, lambda: check_array(value, **options))
    check_magnitude(name, matrix)
    return matrix


def check_magnitude(name: str, X: Any) -> None:
    """Refuse numbers whose squares, summed over rows or columns, would overflow."""
    values = X.data if sparse.issparse(X) else X
    largest = max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))
    allowed = float(np.sqrt(np.finfo(X.dtype).max / max(X.shape)) / 10)
    if largest > allowed:
        raise ValueError(f"{name} holds {largest:.3g}; numbers of {X.dtype} must not exceed {allowed:.3g} in size.")


def named_errors(name: str, check: Any) -> Any:
    """Run a check of scikit-learn's; where its message does not name the argument, put the name before it."""
    try:
        return check()
    except (ValueError, TypeError) as error:
        if name in str(error).split() or type(error) not in (ValueError, TypeError):
            raise
        raise type(error)(f"{name}: {error}") from error
