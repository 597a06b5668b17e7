"""Compiled kernels: loops that numpy cannot express, compiled by numba where it is installed (``thpi[fast]``).

Every kernel has a twin in plain numpy that returns the same result, bit for bit. Callers ask :func:`pays_off` which of
the two to use. A kernel's own file imports numba at the top, so callers import it only after that question.
"""

from __future__ import annotations

from thpi.kernels._threads import WORDS_WORTH_AN_IMPORT, available, pays_off

__all__ = ["WORDS_WORTH_AN_IMPORT", "available", "pays_off"]
