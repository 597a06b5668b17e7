"""The number of ones of a word, as one instruction of the machine."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

__all__ = ["popcount"]


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _popcount(typing_context: Any, word: Any) -> Any:
    """Count the ones of an unsigned word."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


popcount: Any = _popcount
"""``popcount(word)``, to be called from compiled code only; numba gives the typing context."""
