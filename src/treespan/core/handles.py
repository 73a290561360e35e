"""Compiled functions and tuples of arrays as plain numbers, so that handlers can call each other by address.

`Handle` writes a tuple once into a block of words. A function that takes the block's address is compiled by itself: an
*entry*. Compiled loops call the entry by its own address with `call_entry`, in 2 ns.

Every entry has the signature (handle, int64, int64) -> int64. Without the JIT, entries and handles are Python objects.
"""

from collections.abc import Callable, Sequence
from typing import Any

from treespan.core.jit import JIT_DISABLED, lowered
from treespan.core.kinds import Handle, games_in

__all__ = ["Entry", "Handle", "call_entry", "entries_of", "entry_of", "first_of", "value_of"]

Entry = Any  # the address of compiled code; without the JIT a Python function
EntryFunction = Callable[[Any, int, int], int]
_in_llvm = lowered("treespan.core.lowering")


def entry_of(function: EntryFunction, handle: Handle) -> Entry:
    """Return the address of `function`, compiled for this kind of handle."""
    return entries_of([(function, handle)])[0]


def entries_of(pairs: Sequence[tuple[EntryFunction, Handle]]) -> list[Entry]:
    """Return the addresses of several functions, which are compiled together."""
    if JIT_DISABLED:
        return [function for function, _ in pairs]
    from treespan.core.compiled import prepare

    wanted: list[Any] = [(function, (handle.kind, "int64", "int64")) for function, handle in pairs]
    variants = prepare(wanted, list({id(game): game for _, handle in pairs for game in games_in(handle)}.values()))
    assert all(variant.result == "int64" for variant in variants), "an entry returns an int64"
    return [variant.address for variant in variants]


@_in_llvm
def value_of(handle: Handle) -> Any:
    """Return the tuple behind a handle. Compiled code loads a field where the field is named."""
    return handle.value


@_in_llvm
def first_of(handle: Handle) -> Handle:
    """Return the handle of the first member of the tuple behind a handle."""
    return handle.first()


@_in_llvm
def call_entry(entry: Entry, handle: Any, first: int, second: int) -> int:
    """Call the entry at an address."""
    return int(entry(handle, first, second))
