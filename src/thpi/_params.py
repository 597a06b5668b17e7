"""Parameters of the methods: fields with a default and what is allowed, in the form that scikit-learn checks.

>>> from dataclasses import dataclass, fields
>>> @dataclass
... class Method:
...     tol: float = weight(1e-6)
>>> Method().tol, fields(Method)[0].metadata["allowed"]
(1e-06, [<sklearn.utils._param_validation.Interval object at ...>])
"""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions


def parameter(default: Any, *allowed: object) -> Any:
    """A parameter that may be any of the types or constraints."""
    return field(default=default, metadata={"allowed": list(allowed)})


def weight(default: float) -> Any:
    """A number of at least 0."""
    return parameter(default, Interval(Real, 0, None, closed="left"))


def positive(default: float) -> Any:
    """A number above 0."""
    return parameter(default, Interval(Real, 0, None, closed="neither"))


def count(default: int, least: int = 1) -> Any:
    """A whole number of at least ``least``."""
    return parameter(default, Interval(Integral, least, None, closed="left"))


def one_of(default: str, *others: str) -> Any:
    """One of the words."""
    return parameter(default, StrOptions({default, *others}))
