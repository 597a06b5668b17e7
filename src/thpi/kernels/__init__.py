"""Compiled kernels: loops that numpy cannot express, compiled by numba where it is installed (``thpi[fast]``).

Every kernel has a twin in plain numpy that gives the same answer, bit for bit; the caller asks :func:`available` and
takes one or the other. A kernel's own file imports numba at the top, so it is imported only after the question.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec

__all__ = ["available"]


@cache
def available() -> bool:
    """Tell whether compiled kernels are to be used: numba is installed and ``THPI_KERNELS`` is not ``off``.

    >>> available() in (True, False)
    True
    """
    return os.environ.get("THPI_KERNELS", "on") != "off" and find_spec("numba") is not None
