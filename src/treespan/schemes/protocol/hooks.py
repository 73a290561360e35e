"""Points at which a scheme adds to the handlers of its family, decided when a search begins.

A rank's tuple has the addresses of a few entries that its handlers call on the way, 2 ns each. They do nothing unless
a scheme sets them; so the handlers are compiled once, whatever the scheme. A hook takes the handle of the
scheme's own tuple, whose first member is the rank's (`rank_of`).
"""

from typing import Any, NamedTuple

from treespan.core.handles import Entry, EntryFunction, Handle, entries_of, entry_of, first_of, value_of
from treespan.core.jit import njit, njit_inline


class Addition(NamedTuple):
    """What a scheme adds to the handlers of its family."""

    value: Any  # a tuple of its own: the functions get its handle
    functions: dict[str, EntryFunction]  # by the hook
    units: tuple[Any, ...] = ()  # that the functions call with (handle, row, slot, node), to be compiled beside them


class Hooks(NamedTuple):
    """Entries of (handle, row, slot); the default of each returns 0."""

    # Of jobs in a divided tree
    begin: Entry  # jobs start here; returns whether they did, else they start at the root's home
    restart: Entry  # a job is back; returns whether it was dealt with
    synchronise: Entry  # a message that is no job, or a job on a detour; returns the work
    find: Entry  # a search job has come; returns 1 + the node that it goes down from, 0: the one in the table
    select: Entry  # a move was selected in a node of this rank; returns whether the job was counted as under way there
    stay: Entry  # a job is about to leave; returns whether it goes on at this rank
    count_result: Entry  # a report has come; returns whether its result was counted
    prove: Entry  # a report has proven a move of a node; returns whether the job makes a detour
    # Of jobs with more playouts than `TdsRank.large_from`, and of parts of such jobs
    expand_early: Entry  # a large job has come to a leaf; returns whether that gets a node at once
    take_over: Entry  # a large job has come to a node; returns 1 + the work, or 0
    come_back: Entry  # a job is back at its topmost level, and its result is counted; likewise
    share_leaf: Entry  # a large job is about to be played out at a leaf that stays one
    # Of simulations in whole trees
    counted: Entry  # a simulation was counted in this rank's tree, its job still has path and value; returns the work
    called: Entry  # an urgent message has come; returns the work
    finished: Entry  # this rank's last simulation has been counted; returns the work
    handle: Any  # number of the handle that all of them take


@njit
def nothing(handle, row, slot):
    return 0


@njit_inline
def rank_of(handle):
    """The rank's tuple, from the handle of a scheme's own."""
    return value_of(first_of(handle))


def no_hooks() -> Hooks:
    """The handlers as they are."""
    anything = Handle(0)
    return Hooks._make([*[entry_of(nothing, anything)] * (len(Hooks._fields) - 1), anything.number])


def with_hooks(addition: Addition) -> Handle:
    """The handle of a rank whose handlers call the functions of an addition.

    The rank is the addition's value, or the first member of that.
    """
    whole = addition.value
    handle, is_rank = Handle(whole), hasattr(whole, "hooks")
    if addition.functions:
        addresses = entries_of([(function, handle) for function in addition.functions.values()])
        entries = dict(zip(addition.functions, addresses, strict=True))
        rank = whole if is_rank else whole[0]
        rank = rank._replace(hooks=rank.hooks._replace(handle=handle.number, **entries))
        handle.write(rank if is_rank else whole._replace(**{whole._fields[0]: rank}))
    return handle if is_rank else handle.first()
