"""Numba as our compiler: everything that rests on Numba's internals is here and in `units.py`, `lowering.py`,
`mpi_lowering.py`; `compiled.py` knows its calling convention.

*Lean* compiling. Numba optimises every function by itself, makes machine code of it, and optimises it again in every
caller. Here a function that compiled code calls is typed and translated once, and nothing more; an entry, which Python
or an address calls, takes in all functions below it, makes them its own and is optimised once. Machine code goes to
`store.py`; Numba's own loader and cache are not used.

`tests/core/test_compiler.py` says what broke when Numba is upgraded.
"""

import hashlib
import importlib
from types import BuiltinFunctionType
from typing import Any

import numba
import numba._dynfunc
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import base, codegen, compiler, cpu, registry, typed_passes, untyped_passes
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.runtime.nrt import rtsys
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, models, register_model, typeof_impl

from treespan.core.diagnosis import NO_PYTHON, CompileError, explain
from treespan.core.jit import Function, Lowered
from treespan.core.kinds import NUMBERS, Kind, places_of

# Without Numba's runtime compiled code cannot allocate, by construction, and it counts no references: each
# touch of an array would be an atomic increment and decrement (P-game UCT: 0.39 against 1.9 M simulations/s).
OPTIONS: dict[str, Any] = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
_I8, _I64 = ir.IntType(8), ir.IntType(64)


# Lean compiling


class LeanLibrary(codegen.JITCodeLibrary):
    """The code of one function: kept as it was translated, for the entries that take it in."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True


class LeanCodegen(codegen.JITCPUCodegen):
    _library_class = LeanLibrary


class LeanContext(cpu.CPUContext):
    """Numba's context for the CPU, but nothing becomes machine code by itself, and no runtime is linked."""

    allow_dynamic_globals = False  # addresses of this process mean nothing to the next one that loads the code

    @global_compiler_lock
    def init(self) -> None:
        super().init()
        self._internal_codegen = LeanCodegen("treespan.exec")

    def load_additional_registries(self) -> None:
        was_ready, rtsys._init = rtsys._init, True  # Numba's runtime is for those who allocate
        try:
            super().load_additional_registries()
        finally:
            rtsys._init = was_ready

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if fn == "print_item" and not isinstance(sig.args[0], types.StringLiteral):  # it would wait for ever
            raise NotImplementedError(NO_PYTHON)
        try:
            return super().get_function(fn, sig, _firstcall)
        except NotImplementedError:  # of Numba's own, written in Python: its usual context has compiled it
            key = fn.get_impl_key(sig) if isinstance(fn, types.Callable) else fn
            if not isinstance(key, BuiltinFunctionType):
                raise
            return base._wrap_impl(registry.cpu_target.target_context._defns[key].find(sig.args), self, sig)

    def add_dynamic_addr(self, builder: Any, intaddr: int, info: str) -> Any:
        if info in ("Function", "CPUDispatcher"):  # a compiled function is called by its symbol, not by this value
            return ir.Constant(_I8.as_pointer(), None)
        raise NotImplementedError("a C function or object is named by its address; compiled code must do without")

    def post_lowering(self, mod: Any, library: Any) -> None:
        pass

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        return numba._dynfunc.make_function(
            fndesc.lookup_module(), fndesc.qualname.split(".")[-1], "", 0, env, (library,)
        )


class LeanTarget(registry.CPUTarget):
    @property
    def typing_context(self) -> Any:
        return registry.cpu_target.typing_context

    @property
    def target_context(self) -> Any:
        return _lean_context()


_contexts: list[Any] = []


def _lean_context() -> Any:
    if not _contexts:
        _contexts.append(LeanContext(registry.cpu_target.typing_context, "cpu"))
    return _contexts[0]


class LeanPasses(PassManager):
    """Numba's pass manager without its timers, events and checks after every pass."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:  # noqa: N802  # Numba's name
        pss.analysis = self._analysis
        pss.run_pass(internal_state)


class LeanCompiler(compiler.CompilerBase):
    """Numba's passes but those for what the package's own functions do without: closures, `with`, parallel loops."""

    PASSES = (
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        untyped_passes.RewriteSemanticConstants,
        untyped_passes.DeadBranchPrune,
        untyped_passes.GenericRewrites,
        untyped_passes.ReconstructSSA,
        untyped_passes.DeadBranchPrune,
        typed_passes.NopythonTypeInference,
        typed_passes.PreLowerStripPhis,
        typed_passes.IRLegalization,
        typed_passes.NativeLowering,
        typed_passes.NoPythonBackend,
    )

    def define_pipelines(self) -> list[Any]:
        passes = LeanPasses("nopython")
        for one in self.PASSES:
            passes.add_pass(one, one.name())
        passes.finalize()
        return [passes]


class LeanDispatcher(registry.CPUDispatcher):
    targetdescr = LeanTarget("cpu")


def new_dispatcher(function: Function) -> Any:
    """Numba's object for a function."""
    options = {**OPTIONS, "forceinline": function.is_inline}
    is_own = str(function.__module__).startswith("treespan.")  # a user's rule may have a closure
    pipeline = LeanCompiler if is_own else compiler.Compiler
    return LeanDispatcher(function.py_func, targetoptions=options, pipeline_class=pipeline)


def insert_implementation(key: Any, implementation: Any) -> None:
    """Have calls of `key`, with any arguments, translated by `implementation(key, context, builder, ...)`."""

    def translate_call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return implementation(key, context, builder, sig, args)

    _lean_context().insert_func_defn([(translate_call, key, (types.VarArg(types.Any),))])


def load_lowered(function: Function) -> None:
    """Make the LLVM instructions known that a function and its callees use."""
    importlib.import_module("treespan.core.units")  # functions that call each other
    importlib.import_module("treespan.core.lowering")  # positions of any game
    for lowered in function.fingerprint.lowered:
        importlib.import_module(lowered.home)


def get_ready() -> None:
    """Load all that Numba loads before its first compilation: once, and not in every forked helper."""
    registry.cpu_target.typing_context.refresh()
    _lean_context().refresh()


units: dict[str, tuple[Function, tuple[Kind, ...]]] = {}  # that translated calls name, by symbol: see `units.py`


def translate(function: Function, kinds: tuple[Kind, ...]) -> Any:
    """Type a function and translate it to LLVM's language, but no further. Raises CompileError."""
    load_lowered(function)
    arguments = tuple(type_of(kind) for kind in kinds)
    try:
        function.dispatcher.compile(arguments)
    except (NumbaError, UnsupportedBytecodeError, KeyError, NotImplementedError) as error:
        raise explain(error, function) from error
    return function.dispatcher.overloads[arguments]


def compile_variant(function: Function, kinds: tuple[Kind, ...], symbol: str) -> tuple[dict[str, Any], bytes]:
    """Machine code of a function for arguments of some kinds, under a name, and what is to be known about it."""
    compiled = translate(function, kinds)
    result = _result_kind(compiled.signature.return_type)
    if function.unit_result not in (None, result):
        raise CompileError(f"{function.title} returns {result}, but it is declared to return {function.unit_result}")
    if not _is_number(result) and not (isinstance(result, list) and all(map(_is_number, result[1]))):
        raise CompileError(f"{function.title} returns {compiled.signature.return_type}; Python takes numbers only")
    try:
        module, externals = _linked(compiled.library, compiled.fndesc.llvm_func_name, symbol)
    except CompileError as error:
        raise CompileError(f"{function.title} does not compile: {error}") from None
    code = compiled.library._codegen._tm.emit_object(module)
    return {"result": result, "externals": externals}, code


def _is_number(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in NUMBERS or kind == "none")


def _linked(library: Any, name: str, symbol: str) -> tuple[Any, list[str]]:
    """An entry with all that it calls as one optimised module, and the functions that it expects elsewhere."""
    whole = LeanLibrary(library._codegen, symbol)
    for part in _closure(library):
        is_lean = isinstance(part, LeanLibrary)
        module = part._final_module.clone() if is_lean else part._get_module_for_linking()
        whole._final_module.link_in(module, preserve=not is_lean)
    module = whole._final_module
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != name:
            value.linkage = "internal"
    module.get_function(name).name = symbol
    whole._optimize_final_module()
    module = whole._final_module
    module.verify()
    left = [value.name for value in module.global_variables if value.is_declaration]
    if left:  # what Numba's own loader would fill in
        raise CompileError("functions that call each other in a circle cannot be compiled; write a loop")
    externals = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    if "numba_gil_ensure" in externals and "numba_gil_release" not in externals:
        raise CompileError(NO_PYTHON)
    return module, externals


def _closure(library: Any) -> list[Any]:
    """A library and all that it links, callers before callees: LLVM drops functions that nothing refers to yet."""
    order: list[Any] = []
    seen: set[int] = set()

    def visit(one: Any) -> None:
        seen.add(id(one))
        for callee in one._linking_libraries:
            if id(callee) not in seen:
                visit(callee)
        order.append(one)

    visit(library)
    return order[::-1]


def _result_kind(result: Any) -> Any:
    plain: Any = types.unliteral(result)
    if hasattr(plain, "__iter__"):  # a tuple
        return ["tuple", [_result_kind(part) for part in plain]]
    return "none" if plain == types.none else "bool" if plain == types.boolean else str(plain)


# Types


class StructType(types.Type):
    """A named tuple behind one word, the address of its block (`kinds.py`)."""

    def __init__(self, kind: Kind):
        self.kind = kind
        # Numba writes the name into every symbol: in full it took 8 % of the time
        super().__init__(name=f"Struct {kind[1]} {hashlib.sha256(repr(kind).encode()).hexdigest()[:16]}")


class StatesType(types.Type):
    """Positions of any game: address of the first, how many there are, and bytes of each."""

    def __init__(self) -> None:
        super().__init__(name="States")


class StateType(types.Type):
    """A position of any game, by its address: only the game's rules look into it."""

    def __init__(self) -> None:
        super().__init__(name="State")


class GameTableType(types.Type):
    """A game: the address of the table of its rules."""

    def __init__(self) -> None:
        super().__init__(name="GameTable")


STATE, STATES, GAME = StateType(), StatesType(), GameTableType()


class _WordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, of: Any):
        super().__init__(manager, of, _I64)


for _type in (StructType, StateType, GameTableType):
    register_model(_type)(_WordModel)


@register_model(StatesType)
class _StatesModel(models.StructModel):
    def __init__(self, manager: Any, of: Any):
        super().__init__(manager, of, [("data", types.int64), ("count", types.int64), ("size", types.int64)])


def type_of(kind: Kind) -> Any:
    """The Numba type of a kind."""
    if isinstance(kind, str):
        known = {"state": STATE, "states": STATES, "game": GAME, "bool": types.boolean}
        return known.get(kind) or getattr(types, kind)
    if kind[0] == "array":
        return types.Array(type_of(kind[1]), kind[2], "C")
    return numba.from_dtype(_dtype_of(kind)) if kind[0] == "record" else StructType(kind)


def _dtype_of(kind: Kind) -> np.dtype:
    names, formats, offsets = [], [], []
    for name, part, shape, offset in kind[2]:
        names.append(name)
        formats.append((part if isinstance(part, str) else _dtype_of(part), shape))
        offsets.append(offset)
    layout: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": kind[1]}
    dtype: np.dtype = np.dtype(layout, align=True)
    return dtype


@typeof_impl.register(Lowered)
def _typeof_lowered(lowered: Lowered, context: Any) -> Any:
    real = getattr(importlib.import_module(lowered.home), lowered.__name__)
    return registry.cpu_target.typing_context.resolve_value_type(real)


# Fields of structs


@infer_getattr
class _StructFields(AttributeTemplate):
    key = StructType

    def generic_resolve(self, of: Any, field: str) -> Any:  # type: ignore[override]  # Numba declares no types
        places = places_of(of.kind)
        return type_of(places[field][1]) if field in places else None


@lower_getattr_generic(StructType)
def _load_field(context: Any, builder: Any, of: Any, address: Any, field: str) -> Any:
    at, kind = places_of(of.kind)[field]
    field_type = type_of(kind)
    if isinstance(field_type, StructType):
        return builder.add(address, ir.Constant(_I64, 8 * at))
    if isinstance(field_type, types.Array):
        shape = [load_word(builder, address, at + 1 + i) for i in range(field_type.ndim)]
        return make_array(context, builder, field_type, load_word(builder, address, at), shape)
    if isinstance(field_type, StatesType):
        states = context.make_helper(builder, field_type)
        states.data, states.count, states.size = (load_word(builder, address, at + i) for i in range(3))
        return states._getvalue()
    if isinstance(field_type, types.Boolean):
        return builder.trunc(load_word(builder, address, at), ir.IntType(1))
    return load_word(builder, address, at, context.get_value_type(field_type))


def load_word(builder: Any, address: Any, index: int, of: Any = _I64, may_change: bool = False) -> Any:
    """A word of a block. Unless it `may_change` while compiled code runs, LLVM need not load it twice."""
    base = builder.inttoptr(address, _I64.as_pointer())
    place = builder.gep(base, [ir.Constant(_I64, index)], inbounds=True)
    if of is not _I64:
        place = builder.bitcast(place, of.as_pointer())
    value = builder.load(place)
    if not may_change:
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def make_array(context: Any, builder: Any, of: Any, data: Any, shape: list[Any]) -> Any:
    """A C-contiguous array over memory that somebody else keeps."""
    array = context.make_array(of)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(of.dtype))
    strides: list[Any] = [ir.Constant(_I64, item)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    context.populate_array(
        array,
        data=builder.inttoptr(data, array.data.type),
        shape=shape,
        strides=strides,
        itemsize=ir.Constant(_I64, item),
        meminfo=None,
    )
    return array._getvalue()
