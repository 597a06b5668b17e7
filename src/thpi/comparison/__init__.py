"""Which code for these vectors? :func:`compare` measures codes at equal bytes; :class:`ResidualQuantiser` is one.

The room may import hashers, auto, index, evaluation, report and what lies below them.
"""

from __future__ import annotations

from thpi.comparison._compare import Comparison, Cut, Result, Truth, compare
from thpi.comparison._methods import METHODS
from thpi.comparison._quantiser import ResidualQuantiser

__all__ = ["METHODS", "Comparison", "Cut", "ResidualQuantiser", "Result", "Truth", "compare"]
