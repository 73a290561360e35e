"""Functions as compiled code names them: taken in by their callers, or, as *units*, linked by symbol.

A call of a unit is a call of a symbol that bears the unit's key (`compiled.py`). The caller is typed by what the unit
is declared to return, so a process may compile a caller while another one compiles the unit.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import models, register_model, typeof_impl
from numba.np import numpy_support

from treespan.core.compiled import key_of, symbol_of
from treespan.core.compiler import GAME, STATE, STATES, StructType, insert_implementation, type_of, units
from treespan.core.jit import Function
from treespan.core.kinds import NUMBERS, Kind, element_kind


class UnitType(types.Dispatcher):
    """A function that compiled code calls by its symbol."""

    def __init__(self, function: Function):
        self.function = function
        super().__init__(function.dispatcher)
        insert_implementation(function, _call_unit)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            raise TypingError(f"{self.function.title} is a unit and takes no named arguments")
        return signature(type_of(self.function.unit_result), *map(types.unliteral, args))

    def get_impl_key(self, sig: Any) -> Any:
        return self.function

    def get_call_signatures(self) -> Any:
        return [], True


register_model(UnitType)(models.OpaqueModel)


@typeof_impl.register(Function)
def _typeof_function(function: Function, context: Any) -> Any:
    return types.Dispatcher(function.dispatcher) if function.unit_result is None else UnitType(function)


def _call_unit(function: Function, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Call the unit by its symbol. If it fails, by an assertion or a checked index, so does the caller."""
    demand = function, tuple(kind_of_type(function, of) for of in sig.args)
    symbol = symbol_of(key_of(demand))
    units[symbol] = demand
    of = context.call_conv.get_function_type(sig.return_type, sig.args)
    unit = cgutils.get_or_insert_function(builder.module, of, symbol)
    status, value = context.call_conv.call_function(builder, unit, sig.return_type, sig.args, args)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return value if sig.return_type != types.none else ir.Constant(ir.IntType(8).as_pointer(), None)


def kind_of_type(function: Function, of: Any) -> Kind:
    """Return the kind of a Numba type. Raises TypingError if a unit cannot take such an argument."""
    kind: Kind = None
    if isinstance(of, StructType):
        kind = of.kind
    elif of in (STATE, STATES, GAME):
        kind = {STATE: "state", STATES: "states", GAME: "game"}[of]
    elif isinstance(of, types.Boolean):
        kind = "bool"
    elif isinstance(of, types.Array) and of.layout == "C":
        kind = ("array", element_kind(np.dtype(numpy_support.as_dtype(of.dtype))), of.ndim)
    elif isinstance(of, types.Record):
        kind = element_kind(np.dtype(numpy_support.as_dtype(of)))
    elif str(of) in NUMBERS:
        kind = str(of)
    if kind is None or type_of(kind) != of:
        raise TypingError(f"{function.title} is a unit and cannot take a {of}")
    return kind
