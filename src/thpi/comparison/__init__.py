"""Which code for these vectors? :func:`compare` measures codes at equal bytes; :class:`ResidualQuantiser` is one.

The room may import hashers, auto, index, evaluation, report and what lies below them.
"""

from __future__ import annotations

from thpi.comparison._compare import Truth, compare
from thpi.comparison._methods import METHODS
from thpi.comparison._quantiser import ResidualQuantiser
from thpi.comparison._result import Comparison, Cut, Result

__all__ = ["METHODS", "Comparison", "Cut", "ResidualQuantiser", "Result", "Truth", "compare"]
