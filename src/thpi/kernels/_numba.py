"""What compiled kernels share: how they are compiled, the count of ones, read-only views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from thpi._types import Array

Kernel = TypeVar("Kernel", bound=Callable[..., object])
Emit = tuple[Signature, Callable[..., object]]


def compiled(function: Kernel) -> Kernel:
    """Compile a function at its first call, to run without the interpreter's lock, and keep it on disk."""
    return cast(Kernel, njit(cache=True, nogil=True)(function))


def frozen(array: Array) -> Array:
    """Return a contiguous read-only view, so that a kernel is compiled once and not for each kind of array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _popcount(typing_context: BaseContext, word: types.Type) -> Emit:
    """Count the ones of an unsigned word."""

    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]) -> ir.Value:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


# Called from compiled code only; numba adds the typing context.
popcount: Any = intrinsic(_popcount)
