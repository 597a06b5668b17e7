"""Asking for memory ahead of its use, in compiled kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["prefetch"]


def _prefetch(context: Any, array: Any, row: Any, byte: Any) -> Any:
    """Ask for the line of memory that holds this byte of a row of an array, of an element where it has one axis."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        offset = builder.add(builder.mul(arguments[1], builder.extract_value(array.strides, 0)), arguments[2])
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.gep(builder.bitcast(array.data, pointer), [offset])
        call = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], call)
        # To be read, kept in every cache, data.
        builder.call(function, [address, *(ir.Constant(number, value) for value in (0, 3, 1))])

    return types.void(array, types.int64, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
