"""Points at which one scheme extends the handlers of another, decided when the handlers are compiled.

Handlers are compiled for the type of their rank's tuple. Its field `extension` is a tuple of the extending scheme's
arrays, or NoExtension, for which every point compiles to nothing: schemes without an extension pay neither at run time
nor when they are compiled.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from numba.extending import overload

from treespan.core.jit import COMPILE_OPTIONS, njit

Function = Callable[[Any, int, int], int]
_EXTENSIONS: dict[str, dict[str, Function]] = {}  # by the name of the tuple's class, then of the point


class NoExtension(NamedTuple):
    """The handlers as they are."""

    unused: int = 0


def extend(arrays: type, **functions: Function) -> None:
    """Have `functions`, by point, run in all ranks whose field `extension` is a tuple of the class `arrays`."""
    _EXTENSIONS[arrays.__name__] = functions


@njit
def nothing(handle, row, slot):
    return 0


def extension(point: str) -> Function:
    """A function (handle, row, slot) that gives 0 and does nothing, unless a scheme extends it."""

    def find(arrays: type) -> Function:
        return _EXTENSIONS.get(arrays.__name__, {}).get(point, nothing)

    def call(handle, row, slot):
        return find(type(handle.value.extension))(handle, row, slot)

    options: Any = COMPILE_OPTIONS

    @overload(call, jit_options=options)
    def choose(handle, row, slot):
        rank = handle.inner
        chosen = find(rank.types[rank.fields.index("extension")].instance_class)
        return lambda handle, row, slot: chosen(handle, row, slot)

    return call
