"""Which code for these vectors? Codes at equal bytes, measured; see :func:`compare`."""

from __future__ import annotations

from thpi.comparison._compare import compare, write_code
from thpi.comparison._measure import Cut
from thpi.comparison._methods import METHODS
from thpi.comparison._result import Comparison, Result

__all__ = ["METHODS", "Comparison", "Cut", "Result", "compare", "write_code"]
