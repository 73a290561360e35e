"""Expected lines of a divided tree: the most visited moves, from node to node, each at its home.

While MPI ranks search, a line is a message. It begins at the root's home when Python there wishes it, gets a move at
each home that it comes to, and ends at rank 0. Where all trees are at hand, and after a search, Python walks
(`search/lines.py`).
"""

import numpy as np

from treespan.core.jit import njit
from treespan.schemes.divided_tree.rank import home_of
from treespan.schemes.protocol.messages import LINE, NO_SLOT
from treespan.schemes.protocol.port import new_slot, release, send
from treespan.search.lines import LINE_MOVES, LINES
from treespan.search.tree import TERMINAL, find_node

TOLD = 1  # as a line's `target`: it has its moves, and is for rank 0


@njit
def begin_lines(rank, row):
    """At the root's home: the most visited moves set out, as many as there are slots for."""
    tree, port, root = rank.tree, rank.port, rank.root[0]
    port.line_wish[0] = 0
    first, count = tree.node_first[root], np.int64(tree.node_count[root])
    most, last = np.int64(2**31), np.int64(-1)
    for i in range(min(LINES, count)):
        best, place = np.int64(-1), np.int64(-1)
        for j in range(count):  # the next one after that with `most` visits at place `last`
            visits = np.int64(tree.edge_visits[first + j])
            if visits > best and (visits < most or (visits == most and j > last)):
                best, place = visits, j
        slot = new_slot(port, row) if best > 0 else np.int64(NO_SLOT)
        if slot == NO_SLOT:
            return
        most, last = best, place
        line = port.jobs.headers[slot]
        line.kind, line.levels, line.target, line.top = LINE, 0, 0, i
        add_move(rank, row, slot, np.uint32(first + place))


@njit
def add_move(rank, row, slot, edge):
    """Add a move to a line, and send it to the home of the position after it, or to rank 0 if that is not known."""
    line = rank.port.jobs.headers[slot]
    rank.port.jobs.levels[slot, line.levels].move = rank.tree.edge_move[edge]
    line.key, line.levels = rank.tree.edge_key[edge], line.levels + 1
    if line.key == 0 or line.levels == LINE_MOVES:
        tell(rank, row, slot)
    else:
        send(rank.port, row, slot, home_of(line.key, rank))


@njit
def tell(rank, row, slot):
    rank.port.jobs.headers[slot].target = TOLD
    send(rank.port, row, slot, 0)


@njit
def follow_line(rank, row, slot):
    """A line has come to the home of a position, or to rank 0."""
    tree, line = rank.tree, rank.port.jobs.headers[slot]
    if line.target == TOLD:
        for i in range(line.levels):
            rank.port.lines[line.top, 1 + i] = rank.port.jobs.levels[slot, i].move
        rank.port.lines[line.top, 0] = line.levels
        release(rank.port, row, slot)
        return
    node = find_node(tree, line.key)
    if node >= TERMINAL or tree.node_visits[node] == 0:
        tell(rank, row, slot)
        return
    best = tree.node_first[node]
    for edge in range(best, best + tree.node_count[node]):
        if tree.edge_visits[edge] > tree.edge_visits[best]:
            best = np.uint32(edge)
    add_move(rank, row, slot, best)
