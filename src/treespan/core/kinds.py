"""What compiled code sees of Python's values: their kinds, and blocks of words in which it finds them.

A *kind* is a small hashable description of a value's type, enough to compile for it and to name the compiled code:

    "int64", "float32", "bool" …                   a number
    ("array", element, dimensions)                 a C-contiguous array; `element` is a number's kind or a record's
    ("record", itemsize, ((name, kind, shape, offset), …))   one record, by its address
    ("struct", title, ((field, kind), …))          a named tuple, by the address of its block
    "states", "state"                              positions of any game: addresses of records that only rules look into
    "game"                                         the table of a game's rules (`games/rules.py`)

A named tuple of arrays, as a search tree, is one word to compiled code: the address of a *block*. An array takes there
the words of its data's address and of its shape, a nested tuple stands inside. Compiled code loads a field when it is
named. Blocks are written by Python alone; nothing is compiled for that.
"""

import ctypes
import struct
from collections.abc import Iterator
from copy import copy
from functools import cache
from typing import Annotated, Any

import numpy as np

from treespan.core.errors import TreespanError
from treespan.core.jit import JIT_DISABLED

Kind = Any  # a string or a tuple, as above
OpaqueRecords = Annotated[
    Any, "opaque"
]  # a named tuple's field of this type: records that compiled code does not look into
NUMBERS = {
    "bool": ctypes.c_uint8,
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
_MASK = 2**64 - 1
# Words of a game's table: where in a position `to_play` stands, then addresses of rules; of playouts one a policy
TABLE: tuple[str, ...] = ("to_play_at", "legal_moves", "candidates", "play", "reward", "key", "chance", "priors")
TABLE += ("expertise", "foresee", "agrees", "playout")
LATE_RULES = frozenset({"priors", "playout", "expertise", "foresee", "agrees"})  # compiled when they are wanted


class KindError(TreespanError):
    """A value that compiled code cannot take."""


@cache
def element_kind(dtype: np.dtype) -> Kind:
    """The kind of an array's elements."""
    if dtype.names is None:
        if dtype.name not in NUMBERS:
            raise KindError(f"compiled code has no numbers of type {dtype.name}; known: {', '.join(NUMBERS)}")
        return dtype.name
    fields = []
    for name in dtype.names:
        part, offset = dtype.fields[name][:2]  # type: ignore[index]  # it has names, so it has fields
        fields.append((name, element_kind(part.base), part.shape, offset))
    return ("record", dtype.itemsize, tuple(fields))


def kind_of(value: Any, states_of: np.dtype | None = None) -> Kind:
    """The kind of a value; a record of type `states_of` is a position."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise KindError(f"{value} does not fit 64 bits; compiled code takes -2**63..2**63-1, or a np.uint64")
        return "int64"
    if isinstance(value, float) and not isinstance(value, np.generic):
        return "float64"
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise KindError("compiled code takes C-contiguous arrays only; copy it with np.ascontiguousarray")
        if states_of is not None and value.dtype == states_of:
            return "states"
        return ("array", element_kind(value.dtype), value.ndim)
    if isinstance(value, np.void):
        return "state" if states_of is not None and value.dtype == states_of else element_kind(value.dtype)
    if isinstance(value, np.generic):
        return element_kind(value.dtype)
    if isinstance(value, Handle):
        return value.kind
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return struct_kind(value)
    if hasattr(value, "compiled_kind"):
        kind: Kind = value.compiled_kind
        return kind
    raise KindError(f"compiled code cannot take a {type(value).__name__}")


def struct_kind(value: Any) -> Kind:
    """The kind of a named tuple."""
    cls: Any = type(value)
    opaque = _opaque_fields(cls)
    fields = tuple(
        (name, "states" if name in opaque else kind_of(member))
        for name, member in zip(value._fields, value, strict=True)
    )
    return ("struct", type(value).__name__, fields)


@cache
def _opaque_fields(cls: type) -> frozenset[str]:
    return frozenset(name for name, hint in cls.__annotations__.items() if hint is OpaqueRecords)


@cache
def words_of(kind: Kind) -> int:
    """Words that a value takes in a block."""
    if kind == "states":
        return 3
    if isinstance(kind, tuple) and kind[0] == "array":
        return 1 + int(kind[2])
    if isinstance(kind, tuple) and kind[0] == "struct":
        return sum(words_of(member) for _, member in kind[2])
    return 1


@cache
def places_of(kind: Kind) -> dict[str, tuple[int, Kind]]:
    """Where in its block each field of a struct begins, and its kind."""
    places, at = {}, 0
    for name, member in kind[2]:
        places[name] = (at, member)
        at += words_of(member)
    return places


def write_words(kind: Kind, value: Any, words: list[int]) -> None:
    """Append the words of a value to a block's."""
    if isinstance(kind, tuple) and kind[0] == "struct":
        for (_, member), part in zip(kind[2], value, strict=True):
            write_words(member, part, words)
    elif kind == "states":
        words += [value.ctypes.data, len(value), value.dtype.itemsize]
    elif isinstance(kind, tuple) and kind[0] == "array":
        words += [value.ctypes.data, *value.shape]
    elif kind == "float64":
        words.append(struct.unpack("<Q", struct.pack("<d", value))[0])
    elif kind == "float32":
        words.append(struct.unpack("<I", struct.pack("<f", value))[0])
    else:
        words.append(word_of(kind, value) & _MASK)


def word_of(kind: Kind, value: Any) -> int:
    """A value that is one whole number to compiled code: a number, or an address."""
    if kind == "state" or (isinstance(kind, tuple) and kind[0] == "record"):
        address: int = value.__array_interface__["data"][0]
        return address
    if kind == "game":
        return int(value.compiled_word)
    return int(value)


def argument_types(kind: Kind) -> list[Any]:
    """What compiled code takes for an argument. An array travels as in Numba: owner, parent, items, item size, data,
    shape and strides."""
    if isinstance(kind, str) and kind in NUMBERS:
        return [NUMBERS[kind]]
    if isinstance(kind, tuple) and kind[0] == "array":
        return [ctypes.c_int64] * (5 + 2 * kind[2])
    return [ctypes.c_int64] * (3 if kind == "states" else 1)


def games_in(value: Any) -> Iterator[Any]:
    """The games among a tuple's members, and theirs."""
    if isinstance(value, Handle):
        yield from games_in(value.value)
    elif isinstance(value, tuple):
        for member in value:
            yield from games_in(member)
    elif getattr(value, "compiled_kind", None) == "game":
        yield value


class Handle:
    """A named tuple in a block, for compiled code that finds it by its address. Keeps the tuple alive."""

    def __init__(self, value: Any):
        self.value = value
        self._whole: Handle | None = None  # never itself: a tree in a cycle waits for the garbage collector
        if not JIT_DISABLED:
            self.kind = kind_of(value)
            self._memory = np.zeros(words_of(self.kind), dtype=np.uint64)
            self.address = int(self._memory.ctypes.data)
            self.write(value)

    @property
    def whole(self) -> "Handle":
        """The handle of the tuple that the value is the first member of, or this one."""
        return self._whole or self

    @property
    def number(self) -> Any:
        """What `call_entry` takes."""
        return self if JIT_DISABLED else self.address

    def write(self, value: Any) -> None:
        """Put another value of the same kind in the place of the value."""
        self.value = value
        if not JIT_DISABLED:
            words: list[int] = []
            write_words(self.kind, value, words)
            self._memory[:] = words

    def first(self) -> "Handle":
        """A handle of the first member of a tuple: the tuple's address is also that of its first member."""
        inner = copy(self)
        inner.value, inner._whole = self.value[0], self
        if not JIT_DISABLED:
            inner.kind = self.kind[2][0][1]
        return inner
