"""What compiled kernels share: how they are compiled, the count of ones, read-only views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from thpi._types import Array

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(function: Kernel) -> Kernel:
    """Compile a function at its first call, to run without the interpreter's lock, and keep it on disk."""
    return cast(Kernel, njit(cache=True, nogil=True)(function))


def frozen(array: Array) -> Array:
    """Return a contiguous read-only view, so that a kernel is compiled once and not for each kind of array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@compiled
def popcount(word: Any) -> Any:
    """Count the ones of an unsigned word; LLVM knows these steps, and takes the one instruction for them."""
    u = np.uint64
    twos, fours = u(0x3333333333333333), u(0x0F0F0F0F0F0F0F0F)
    x = u(word) - ((u(word) >> u(1)) & u(0x5555555555555555))
    x = (x & twos) + ((x >> u(2)) & twos)
    return (((x + (x >> u(4))) & fours) * u(0x0101010101010101)) >> u(56)
