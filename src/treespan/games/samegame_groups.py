"""Groups of blocks on SameGame's board: found, removed, and what falls after them.

The board is stored column by column from the bottom, with an empty cell above each column and an empty column at either
side. So a look at a neighbour needs no test for the edge. `stride` is the number of cells from a block to its right
neighbour.
"""

import numpy as np

from treespan.core.jit import njit

EMPTY = 0
TRAIL = 32  # + direction: a block being removed, and the way that led to it
START = TRAIL + 4  # the block where a removal began
REMOVED = 64  # a hole until the blocks above fall into it
# Cells are unsigned, which saves the test for negative indices: +8 % playouts/s. Sums wrap as they should.
NONE, ONE = np.uint64(0), np.uint64(1)
DOWN = np.uint64(2**64 - 1)


@njit
def may_be_first(board, cell, stride):
    """Whether `cell` could be the first block of a group. A cheap test: it is false for most cells that are not."""
    color = board[cell]
    return (
        color != EMPTY
        and board[cell - ONE] != color
        and board[cell - stride] != color
        and (board[cell + ONE] == color or board[cell + stride] == color)
    )


@njit
def outlined_blocks(board, first, stride):
    """Return the number of blocks within the outline of the group of `first`; 0 if the group has a block before it.

    Follows the outline with the outside at the left hand, and so needs neither memory nor marks on the board. Counts
    blocks of other colours that the group surrounds, too.
    """
    color = board[first]
    cell, ahead, left = first, ONE, NONE - stride
    area = NONE
    while True:
        if ahead == ONE:  # a row of blocks begins here ...
            area -= cell - stride
        elif ahead == DOWN:  # ... and ends here: the difference of the cells is stride for each block
            area += cell
        if board[cell + ahead] != color:
            ahead, left = NONE - left, ahead  # turn right
        elif board[cell + ahead + left] != color:
            cell += ahead
        else:
            cell += ahead + left
            ahead, left = left, NONE - ahead  # turn left
        if cell < first:
            return NONE
        if cell == first and ahead == ONE:
            return area // stride


@njit
def list_groups(board, columns, stride, avoided, moves):
    """Write the first block of every group, except groups of the colour `avoided`. Returns the number of groups."""
    count = 0
    for column in range(1, columns + 1):
        cell = np.uint64(column) * stride
        while board[cell] != EMPTY:
            if board[cell] != avoided and may_be_first(board, cell, stride):
                if outlined_blocks(board, cell, stride) != NONE:
                    moves[count] = cell
                    count += 1
            cell += ONE
    return count


@njit
def mark_removed(board, first, stride):
    """Turn the cells of the group of `first` into REMOVED. Returns the group's size and its last cell.

    Works depth first without a stack: the cells themselves hold the way back.
    """
    color = board[first]
    cell, last, size = first, first, 1
    board[first] = START
    while True:
        if board[cell + ONE] == color:
            cell += ONE
            board[cell] = TRAIL
        elif board[cell + stride] == color:
            cell += stride
            board[cell] = TRAIL + 1
        elif board[cell - ONE] == color:
            cell -= ONE
            board[cell] = TRAIL + 2
        elif board[cell - stride] == color:
            cell -= stride
            board[cell] = TRAIL + 3
        else:
            way = board[cell]
            board[cell] = REMOVED
            if way == START:
                return size, last
            if way == TRAIL:
                cell -= ONE
            elif way == TRAIL + 1:
                cell -= stride
            elif way == TRAIL + 2:
                cell += ONE
            else:
                cell += stride
            continue
        size += 1
        last = max(last, cell)


@njit
def drop_blocks(board, column, stride):
    """Let the blocks of a column fall into the holes below them. Returns whether any block is left."""
    bottom = np.uint64(column) * stride
    source, target = bottom, bottom
    while board[source] != EMPTY:
        if board[source] != REMOVED:
            board[target] = board[source]
            target += ONE
        source += ONE
    some_left = target > bottom
    while target < source:
        board[target] = EMPTY
        target += ONE
    return some_left


@njit
def close_columns(board, first, columns, stride):
    """Close the empty columns from `first` on. Returns the number of columns left."""
    target = first
    for column in range(first, columns + 1):
        if board[column * stride] != EMPTY:
            if target < column:
                for row in range(stride):
                    board[target * stride + row] = board[column * stride + row]
            target += 1
    for cell in range(target * stride, (columns + 1) * stride):
        board[cell] = EMPTY
    return target - 1
