"""The fingerprint: a hash of a function, of all that it calls, and of the constants that it names.

Compiled code is kept on disk under this hash. It is found again as long as nothing that went into it has changed. It is
not found after a change in any file: of a called function, of a user's module that a game imports, or of a constant.
The bytecode is hashed, not the text: comments and docstrings do not count.
"""

import enum
import hashlib
import types
from typing import Any

import numpy as np

from treespan.core.jit import Function, Lowered

_WHOLE_MODULES = ("numpy", "math", "numba", "builtins")  # known by the versions of Numba and Python


class Fingerprint:
    """The hash of a function, and all functions below it."""

    def __init__(self, function: Function):
        self._digest = hashlib.sha256()
        self._seen: dict[int, int] = {}
        self.lowered: set[Lowered] = set()  # lowered functions below it, among them questions to a game
        self.functions: list[Any] = []  # the plain functions, callers first
        self._function(function)
        self.hash = self._digest.hexdigest()

    def _note(self, *words: Any) -> None:
        self._digest.update(repr(words).encode())

    def _function(self, function: Any) -> None:
        plain = getattr(function, "py_func", function)
        if id(plain) in self._seen:
            self._note("again", self._seen[id(plain)])
            return
        self._seen[id(plain)] = len(self._seen)
        self.functions.append(plain)
        if isinstance(function, Function):
            self._note("inline", function.is_inline, "unit", function.unit_result)
        self._note("function", plain.__name__)
        for default in plain.__defaults__ or ():
            self._value(default, ())
        cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True))
        self._code(plain.__code__, plain.__globals__, cells, plain.__doc__)

    def _code(self, code: types.CodeType, names: dict[str, Any], cells: dict[str, Any], doc: str | None) -> None:
        self._note(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names, cells, None)
            elif not (isinstance(constant, str) and constant == doc):
                self._note("constant", type(constant).__name__, constant)
        for name in code.co_freevars:
            if name in cells:
                self._note("free", name)
                self._value(cells[name].cell_contents, code.co_names)
        for name in code.co_names:
            if name in names:
                self._note("global", name)
                self._value(names[name], code.co_names)

    def _value(self, value: Any, attributes: tuple[str, ...]) -> None:
        """Note a value that code names. Of a module or class, note also its `attributes` that the code names."""
        if isinstance(value, Lowered):
            self._note("lowered", value.home, value.__name__)
            self.lowered.add(value)
        elif isinstance(value, Function | types.FunctionType) or hasattr(value, "py_func"):
            if hasattr(value, "targetoptions"):  # Numba's own decorator
                self._note("options", sorted(map(repr, value.targetoptions.items())))
            self._function(value)
        elif hasattr(value, "_defn"):  # an intrinsic of Numba's kind
            self._function(value._defn)
        elif isinstance(value, np.dtype):
            self._note("dtype", value.itemsize, str(value.fields or value))
        elif isinstance(value, enum.Enum):
            self._note("enum", type(value).__qualname__, value.name)
            self._value(value.value, ())
        elif isinstance(value, np.ndarray):
            self._note("array", str(value.dtype), value.shape)
            self._digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, tuple | list):
            self._note("items", type(value).__qualname__, getattr(value, "_fields", None), len(value))
            for item in value:
                self._value(item, attributes)
        elif isinstance(value, types.ModuleType):
            self._note("module", value.__name__)
            if value.__name__.partition(".")[0] not in _WHOLE_MODULES and id(value) not in self._seen:
                self._seen[id(value)] = len(self._seen)
                self._attributes(value, attributes)
                del self._seen[id(value)]
        elif isinstance(value, type):
            self._note("class", value.__module__, value.__qualname__)
            if value.__module__.partition(".")[0] not in _WHOLE_MODULES and id(value) not in self._seen:
                self._seen[id(value)] = len(self._seen)
                self._attributes(value, attributes)
                del self._seen[id(value)]
        elif isinstance(value, np.generic | int | float | str | bytes | complex | types.NoneType):
            self._note(type(value).__name__, value.item() if isinstance(value, np.generic) else value)
        else:  # compiled code can depend on its type alone
            self._note("other", type(value).__module__, type(value).__qualname__)

    def _attributes(self, owner: Any, attributes: tuple[str, ...]) -> None:
        for name in attributes:
            if name in vars(owner):
                self._note("attribute", name)
                self._value(vars(owner)[name], attributes)
