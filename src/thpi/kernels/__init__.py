"""Loops that numpy cannot express, compiled by numba where it is installed (``thpi[fast]``), and threads to run them.

A kernel works on arrays alone and imports only :mod:`thpi._types`. Without numba the caller does the same in numpy or
faiss, or runs the loop as it is, with the same result to the bit; it asks :func:`pays_off` before it imports a kernel.
"""

from __future__ import annotations

from thpi.kernels.threads import WORDS_WORTH_AN_IMPORT, available, pays_off

__all__ = ["WORDS_WORTH_AN_IMPORT", "available", "pays_off"]
