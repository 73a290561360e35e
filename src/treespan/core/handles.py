"""Compiled functions and tuples of arrays behind plain numbers, so that loops need not be compiled for each of them.

Numba compiles a caller anew for every type of argument, callee included: one loop for every scheme and game. Instead a
tuple of arrays is written once into memory (`Handle`), a function that takes the handle is compiled alone (`Entry`),
and a loop calls it by its address with `call_entry`. A call costs 2 ns, and compiled code is found in the on-disk
cache, for a handle has a type of its own that names the tuple's.

Every entry has the signature (handle, int64, int64) -> int64. Without the JIT entries and handles are Python objects.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from treespan.core.jit import JIT_DISABLED, njit

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
Entry = Any  # address of compiled code, without the JIT a function


class Handle:
    """A value, as a rule a tuple of arrays, that compiled code finds by its address. Keeps the value alive."""

    def __init__(self, value: Any):
        self.value = value
        self._whole: Handle | None = None  # never itself: a tree in a cycle waits for the garbage collector
        self.numba_type: Any = None  # once it is known: to find out takes a millisecond
        if not JIT_DISABLED:
            self._memory = np.zeros(_bytes_of(value) // 8 + 1, dtype=np.int64)
            self.address = int(self._memory.ctypes.data)
            _write(value, self.address)

    @property
    def whole(self) -> "Handle":
        """The handle of the tuple that the value is the first member of, or this one."""
        return self._whole or self

    @property
    def number(self) -> Any:
        """What `call_entry` takes."""
        return self if JIT_DISABLED else self.address

    def write(self, value: Any) -> None:
        """Put another value of the same type in the place of the value."""
        self.value = value
        if not JIT_DISABLED:
            _write(value, self.address)

    def first(self) -> "Handle":
        """A handle of the first member of a tuple: the tuple's address is also that of its first member."""
        inner = copy(self)
        inner.value, inner._whole, inner.numba_type = self.value[0], self, None
        return inner


class HandleType(types.Type):
    """The Numba type of a handle; `inner` is the type of the value behind it."""

    def __init__(self, inner: Any):
        self.inner = inner
        super().__init__(name=f"Handle({inner})")


@register_model(HandleType)
class _HandleModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any):
        super().__init__(manager, numba_type, _I64)


@typeof_impl.register(Handle)
def _typeof_handle(handle: Handle, context: Any) -> HandleType:
    if handle.numba_type is None:
        handle.numba_type = HandleType(numba.typeof(handle.value))
    return handle.numba_type


@unbox(HandleType)
def _unbox_handle(numba_type: Any, handle: Any, context: Any) -> NativeValue:
    number = context.pyapi.object_getattr_string(handle, "address")
    address = context.pyapi.long_as_longlong(number)
    context.pyapi.decref(number)
    return NativeValue(address)


@infer_getattr
class _HandleFields(AttributeTemplate):
    """A handle has the fields of its tuple. Only the field that is named is loaded: a function that took the whole
    tuple of some hundred words would take a second to compile for it."""

    key = HandleType

    def generic_resolve(self, handle: Any, field: str) -> Any:  # type: ignore[override]  # Numba declares no types
        fields = handle.inner.fields
        return handle.inner.types[fields.index(field)] if field in fields else None


@lower_getattr_generic(HandleType)
def _load_field(context: Any, builder: Any, handle: Any, address: Any, field: str) -> Any:
    index = handle.inner.fields.index(field)
    pointer = builder.inttoptr(address, context.get_value_type(handle.inner).as_pointer())
    place = builder.gep(pointer, [ir.Constant(_I32, 0), ir.Constant(_I32, index)], inbounds=True)
    return _load(builder, place, context.get_value_type(handle.inner.types[index]))


def entry_of(function: Callable[[Any, int, int], int], handle: Handle) -> Entry:
    """Compile `function` for this type of handle, or load it from the cache, and give its address."""
    if JIT_DISABLED:
        return function
    dispatcher: Any = function
    arguments = (numba.typeof(handle), types.int64, types.int64)
    dispatcher.compile(arguments)
    compiled = dispatcher.overloads[arguments]
    assert types.unliteral(compiled.signature.return_type) == types.int64, "an entry gives an int64"
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def _members(struct: Any) -> list[Any]:
    return [struct.element] * struct.count if isinstance(struct, ir.ArrayType) else list(struct.elements)


def _load(builder: Any, pointer: Any, llvm_type: Any) -> Any:
    """Load member by member: LLVM then drops the loads of members that nobody uses."""
    if not isinstance(llvm_type, ir.LiteralStructType | ir.ArrayType):
        return builder.load(pointer)
    value = ir.Constant(llvm_type, ir.Undefined)
    for index, member in enumerate(_members(llvm_type)):
        place = builder.gep(pointer, [ir.Constant(_I32, 0), ir.Constant(_I32, index)], inbounds=True)
        value = builder.insert_value(value, _load(builder, place, member), index)
    return value


def _codegen_call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Numba's own calling convention: the result through a pointer, a status, which is ignored: nothing raises."""
    parameters = [_I64.as_pointer(), _I8.as_pointer().as_pointer(), _I64, _I64, _I64]
    function = builder.inttoptr(arguments[0], ir.FunctionType(_I32, parameters).as_pointer())
    result = cgutils.alloca_once(builder, _I64)
    error = cgutils.alloca_once(builder, _I8.as_pointer())
    builder.call(function, [result, error, *arguments[1:]])
    return builder.load(result)


if JIT_DISABLED:

    def value_of(handle: Handle) -> Any:
        return handle.value

    def first_of(handle: Handle) -> Handle:
        return handle.first()

    def call_entry(entry: Entry, handle: Any, first: int, second: int) -> int:
        return int(entry(handle, first, second))

else:

    @intrinsic
    def value_of(typing_context, handle):
        """The tuple behind a handle: its fields are loaded when they are named."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return arguments[0]

        return handle(handle), codegen

    @intrinsic
    def first_of(typing_context, handle):
        """The handle of the first member of the tuple behind a handle."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return arguments[0]

        return HandleType(handle.inner.types[0])(handle), codegen

    @intrinsic
    def call_entry(typing_context, entry, handle, first, second):
        """Call the entry at an address."""
        return types.int64(types.int64, types.int64, types.int64, types.int64), _codegen_call

    @intrinsic
    def _size_of(typing_context, value):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ir.Constant(_I64, context.get_abi_sizeof(arguments[0].type))

        return types.int64(value), codegen

    @intrinsic
    def _store(typing_context, value, address):
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[0], builder.inttoptr(arguments[1], arguments[0].type.as_pointer()))
            return context.get_dummy_value()

        return types.void(value, types.int64), codegen

    @njit
    def _bytes_of(value):
        return _size_of(value)

    @njit
    def _write(value, address):
        _store(value, address)
