"""When compiled kernels are worth their import, which takes some tenths of a second."""

from __future__ import annotations

import sys

from thpi.kernels import available

__all__ = ["pays_off"]

# Comparisons of words that take numpy or faiss about as long as numba takes to be imported.
_IMPORT_IN_WORDS = 2**28
_done = 0


def pays_off(n_words: int) -> bool:
    """Tell whether to compare ``n_words`` pairs of words by a kernel; the answer is the same, only the time differs.

    A command that compares little would wait for the import longer than for its work, so kernels are left aside until
    this process has done about as much work as the import costs: then no more than that is ever lost.

    >>> pays_off(2**60) == available()
    True
    """
    global _done
    if not available():
        return False
    _done += n_words
    return "numba" in sys.modules or _done >= _IMPORT_IN_WORDS
