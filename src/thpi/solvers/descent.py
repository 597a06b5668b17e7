"""The promise of every descent: exact steps never raise the objective, but for rounding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["AscentError", "check_descent"]

# Rounding errors, in units of the last digit of the terms summed. The largest seen was 0.4, on X
# 200,000 rows; a wrong step rises by a million and more of float64.
_ROUNDINGS = 256


class AscentError(ArithmeticError):
    """A step that cannot raise the objective has raised it, by more than rounding explains."""


def check_descent(method: str, former: float, value: float, scale: float, dtype: npt.DTypeLike) -> None:
    """Raise :class:`AscentError` if ``value`` is above ``former`` by more than rounding, or not a number.

    A sum whose terms have sizes that add up to ``scale`` is known up to a few of its last digits in the precision of
    ``dtype``: ``value <= former + 256 eps scale``.

    >>> check_descent("ITQ", 5.0, 5.0 + 1e-15, 10.0, np.float64)
    >>> check_descent("ITQ", 5.0, 5.1, 10.0, np.float64)
    Traceback (most recent call last):
        ...
    thpi.solvers.descent.AscentError: ITQ: a step raised the objective from 5 to 5.1; rounding explains 5.7e-13...
    """
    most = _ROUNDINGS * float(np.finfo(dtype).eps) * scale
    if not value <= former + most:
        raise AscentError(
            f"{method}: a step raised the objective from {former:.12g} to {value:.12g}; rounding explains {most:.2g}. "
            "The steps are exact, so thpi or the linear algebra library (BLAS) is at fault: please report it."
        )
