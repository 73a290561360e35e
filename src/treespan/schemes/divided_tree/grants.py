"""How jobs start at the root, and how many playouts each is granted there."""

from treespan.core.handles import call_entry, value_of
from treespan.core.jit import njit, njit_inline, njit_unit
from treespan.schemes.protocol.messages import NO_SLOT, NO_VALUE, SEARCH
from treespan.schemes.protocol.port import TREE, end_search, enqueue
from treespan.search.tree import ROOT

ROOT_VISITS = 2**31 - 1  # as edge_visits: the root is expanded at once
SMALLEST_GRANT = 16  # with grant=0; below it jobs come home faster than the root's home can serve them
# With budget=share, after so many times the budget no rank is waited for: in a small tree some never get a leaf
PATIENCE = 4


@njit_unit("none")
def restart_job(handle, row, slot):
    """Send a job down from the root, if playouts are left to grant; otherwise it ends."""
    rank = value_of(handle)
    port, budget = rank.port, rank.port.budget[0]
    if call_entry(rank.hooks.restart, rank.hooks.handle, row, slot) != 0:
        return
    if budget.to_grant == 0 or port.state[row].draining:
        end_job(port, row)
        return
    granted = grant_of(rank)
    if rank.rank_share == 0:
        budget.to_grant -= granted
    elif rank.tree.node_visits[ROOT] > PATIENCE * budget.to_grant:
        budget.to_grant = 0  # the last grants: jobs that come home end
    start_job(rank, row, slot, granted)


@njit
def end_job(port, row):
    """A job is back at the root, and nothing is left to do for it."""
    port.budget[0].jobs_alive -= 1
    if port.budget[0].jobs_alive == 0:
        end_search(port, row)


@njit_inline
def start_job(rank, row, slot, granted):
    """A job starts at this rank's root, for so many playouts (df-UCT)."""
    job = rank.port.jobs.headers[slot]
    job.kind, job.levels, job.target, job.value, job.trail = SEARCH, 0, 0, NO_VALUE, 0
    job.key, job.edge_visits, job.allowance = rank.root_key, ROOT_VISITS, granted
    job.top, job.whole, job.flights, job.dealt = 0, NO_SLOT, 0, 0
    enqueue(rank.port, row, TREE, slot)


@njit
def grant_of(rank):
    """Playouts for a job that starts at the root."""
    left = rank.port.budget[0].to_grant
    return min(left, rank.grant or max(left // (2 * rank.all_jobs), SMALLEST_GRANT))
