"""Rows must be numbers. What numpy would turn into numbers without a word is refused: dates, texts, masked entries."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from thpi._types import Array, is_sparse

_TEXTS = (str, bytes)
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def check_numbers(name: str, value: Any) -> Any:
    """Return rows as they came, a list as an array; refuse those that hold anything but numbers.

    >>> check_numbers("X", [["1.5"]])
    Traceback (most recent call last):
    ValueError: X holds texts, such as '1.5'; it must hold numbers. Convert them, as astype(float) does, or ...
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        n = int(np.ma.getmaskarray(value).sum())
        advice = f"Fill them, as {name}.filled(0) does, or leave their rows out."
        raise ValueError(f"{name} is a masked array: {n} of its {value.size} entries are masked, not known. {advice}")
    if hasattr(value, "columns") and hasattr(value, "dtypes"):  # a data frame of pandas or polars
        for column, dtype in zip(value.columns, value.dtypes, strict=True):
            if not _is_numeric(dtype):
                _check(f"{name} (column {column!r})", np.asarray(value[column]))
        return value
    if is_sparse(value):
        return value
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        return value  # ragged, or no matrix at all: scikit-learn says so
    _check(name, array)
    return array if isinstance(value, (list, tuple)) else value


def _is_numeric(dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)  # of numpy and pandas
    return kind in ("b", "i", "u", "f", "c") if isinstance(kind, str) else bool(dtype.is_numeric())


def _check(name: str, array: Array) -> None:
    kind = array.dtype.kind
    if kind in "biufc" or not array.size:
        return
    # Objects may be numbers, too.
    value = next((v for v in array.flat if isinstance(v, (*_TEXTS, *_DATES))), None) if kind == "O" else array.flat[0]
    if isinstance(value, _TEXTS):
        value = value.item() if isinstance(value, np.generic) else value
        advice = "Convert them, as astype(float) does, or leave them out."
        raise ValueError(f"{name} holds texts, such as {value!r}; it must hold numbers. {advice}")
    if isinstance(value, _DATES):
        advice = "Turn them into numbers, such as days since the first, or leave them out."
        raise ValueError(f"{name} holds dates or times, such as {value}; it must hold numbers. {advice}")
