"""Loops that numpy cannot express, compiled by numba where it is installed (``thpi[fast]``), and threads to run them.

A kernel works on arrays alone and imports only :mod:`thpi._types`. Without numba the caller does the same in numpy or
faiss, or runs the loop as it is, with the same result to the bit; it asks :func:`pays_off` before it imports a kernel.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec

__all__ = ["WORDS_WORTH_AN_IMPORT", "available", "pays_off"]

WORDS_WORTH_AN_IMPORT = 2**27
"""Pairs of 8-byte words that numpy or faiss compares in the time it takes to import numba, about 0.25 seconds."""


@cache
def available() -> bool:
    """Whether compiled kernels may be used: numba is installed and ``THPI_KERNELS`` is not ``off``."""
    return os.environ.get("THPI_KERNELS", "on") != "off" and find_spec("numba") is not None


def pays_off(n_words: int) -> bool:
    """Whether a kernel compares ``n_words`` pairs of words faster than its twin, counting the import of numba.

    A caller in a loop passes the work of the whole loop. Only the time depends on the answer, not the results.

    >>> pays_off(WORDS_WORTH_AN_IMPORT) == available()
    True
    """
    return available() and ("numba" in sys.modules or n_words >= WORDS_WORTH_AN_IMPORT)
