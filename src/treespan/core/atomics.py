"""Atomic operations on array elements, for threads that share a tree or a ring.

Intrinsics on LLVM's atomic instructions: no update is lost in 2 x 5 M adds from two threads where a
plain `+=` loses millions, and an add takes 2 ns. Loads acquire, stores release, read-modify-writes do
both: whatever a thread wrote before it published an element is seen by the thread that read it. LLVM
hoists plain loads out of loops, so a flag that another thread sets must be read with `atomic_load`.
With the JIT disabled the plain twins below run, under one lock for all arrays.
"""

import threading
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from treespan.core.jit import JIT_DISABLED

if JIT_DISABLED:
    _LOCK = threading.Lock()

    def atomic_load(array: Any, index: int) -> Any:
        return array[index]

    def atomic_store(array: Any, index: int, value: Any) -> None:
        with _LOCK:
            array[index] = value

    def atomic_add(array: Any, index: int, value: Any) -> Any:
        with _LOCK:
            old = array[index]
            array[index] = old + value
        return old

    def atomic_cas(array: Any, index: int, expected: Any, value: Any) -> bool:
        with _LOCK:
            if array[index] != expected:
                return False
            array[index] = value
            return True

    def fence() -> None:
        with _LOCK:
            pass

else:

    def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """The address of element `arguments[1]` of array `arguments[0]`; does not check bounds."""
        array_type, index_type = signature.args[:2]
        array = context.make_array(array_type)(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], index_type, types.intp)
        return cgutils.get_item_pointer(context, builder, array_type, array, [index], wraparound=False)

    def _align(array_type: Any) -> int:
        return int(array_type.dtype.bitwidth) // 8

    def _add_double_to_single(builder: Any, pointer: Any, addend: Any) -> Any:
        """As `+=`, add in double precision and round once; LLVM's own addition would round `addend` first."""
        word = builder.bitcast(pointer, ir.IntType(32).as_pointer())
        first = builder.load_atomic(word, "monotonic", 4, typ=ir.IntType(32))
        before, again, after = builder.block, builder.append_basic_block("again"), builder.append_basic_block("after")
        builder.branch(again)
        builder.position_at_end(again)
        bits = builder.phi(ir.IntType(32))
        bits.add_incoming(first, before)
        old = builder.bitcast(bits, ir.FloatType())
        total = builder.fptrunc(builder.fadd(builder.fpext(old, ir.DoubleType()), addend), ir.FloatType())
        outcome = builder.cmpxchg(word, bits, builder.bitcast(total, ir.IntType(32)), "acq_rel", "monotonic")
        bits.add_incoming(builder.extract_value(outcome, 0), again)
        builder.cbranch(builder.extract_value(outcome, 1), after, again)
        builder.position_at_end(after)
        return old

    @intrinsic
    def atomic_load(typing_context, array, index):
        """The element's value, with acquire ordering."""

        def codegen(context, builder, signature, arguments):
            pointer = _pointer(context, builder, signature, arguments)
            return builder.load_atomic(pointer, "acquire", _align(array), typ=context.get_value_type(array.dtype))

        return array.dtype(array, index), codegen

    @intrinsic
    def atomic_store(typing_context, array, index, value):
        """Write the element, with release ordering."""

        def codegen(context, builder, signature, arguments):
            pointer = _pointer(context, builder, signature, arguments)
            stored = context.cast(builder, arguments[2], signature.args[2], array.dtype)
            builder.store_atomic(stored, pointer, "release", _align(array))
            return context.get_dummy_value()

        return types.none(array, index, value), codegen

    @intrinsic
    def atomic_add(typing_context, array, index, value):
        """Add to the element (integer or float), with the rounding of `+=`; gives its value before."""

        def codegen(context, builder, signature, arguments):
            pointer = _pointer(context, builder, signature, arguments)
            if (array.dtype, value) == (types.float32, types.float64):
                return _add_double_to_single(builder, pointer, arguments[2])
            addend = context.cast(builder, arguments[2], signature.args[2], array.dtype)
            operation = "fadd" if isinstance(array.dtype, types.Float) else "add"
            return builder.atomic_rmw(operation, pointer, addend, "acq_rel")

        return array.dtype(array, index, value), codegen

    @intrinsic
    def atomic_cas(typing_context, array, index, expected, value):
        """Write `value` if the element equals `expected`; says whether it did."""

        def codegen(context, builder, signature, arguments):
            pointer = _pointer(context, builder, signature, arguments)
            old = context.cast(builder, arguments[2], signature.args[2], array.dtype)
            new = context.cast(builder, arguments[3], signature.args[3], array.dtype)
            outcome = builder.cmpxchg(pointer, old, new, "acq_rel", "acquire")
            return builder.extract_value(outcome, 1)

        return types.boolean(array, index, expected, value), codegen

    @intrinsic
    def fence(typing_context):
        """Order all writes before it against all reads after it, as no load, store or add does.

        Two threads that each write, fence and read what the other wrote: at least one sees both writes.
        """

        def codegen(context, builder, signature, arguments):
            builder.fence("seq_cst")
            return context.get_dummy_value()

        return types.none(), codegen
