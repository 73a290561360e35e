"""Which runtime runs a search: the one place that knows them all."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from treespan.core.errors import OptionError, about, named
from treespan.runtimes.launch import inside_mpi
from treespan.runtimes.together import meet, share, together
from treespan.schemes.plan import MPI, SIMULATED, THREADS, Plan, Progress, Request, WantsStop
from treespan.search.result import SearchResult

if TYPE_CHECKING:
    from treespan.runtimes.ranks import RanksOnDemand


def run_search(
    request: Request, progress: Progress | None = None, wants_stop: WantsStop | None = None
) -> SearchResult | None:
    """Search by any scheme on any runtime that suits it. In an MPI job only rank 0 gets a result."""
    check_fit(request)
    plan = request.plan
    if plan.runtime == SIMULATED:
        from treespan.runtimes.simulated import run_simulated

        return run_simulated(request, progress, wants_stop)
    if plan.runtime == MPI:
        if inside_mpi():
            from treespan.runtimes.mpi import run_mpi

            return run_mpi(request, progress, wants_stop)
        from treespan.runtimes.ranks import search_on_ranks

        return search_on_ranks(request, progress, wants_stop)
    if plan.scheme.in_one_process and not plan.has_workers:
        return plan.scheme.search_here(request, progress, wants_stop)
    from treespan.runtimes.threads import run_threads

    result = run_threads(on_ranks(request), progress, wants_stop)
    result.scheme = plan.spec()
    return result


@contextlib.contextmanager
def starting_ranks(plan: Plan) -> "Iterator[RanksOnDemand | None]":
    """Ranks that are starting while the caller prepares the search, if a plan wants ranks of our own; else None."""
    if plan.runtime != MPI or inside_mpi():
        yield None
        return
    from treespan.runtimes.ranks import RanksOnDemand

    ranks = RanksOnDemand(plan.ranks)
    ranks.start()
    try:
        yield ranks
    finally:
        ranks.close()


def search_for_all(
    request: Request, progress: Progress | None = None, wants_stop: WantsStop | None = None
) -> SearchResult:
    """As `run_search`, but in an MPI job all ranks get the result."""
    if request.plan.runtime == MPI and inside_mpi():
        return search_together(request, progress, wants_stop)
    result = run_search(request, progress, wants_stop)
    assert result is not None
    return result


@together(lambda *_: True)
def search_together(request: Request, progress: Progress | None, wants_stop: WantsStop | None) -> SearchResult:
    """Search with all ranks of this MPI job. All get the result, or, if one of them cannot begin, its error."""
    check_fit(request)
    meet()
    result: SearchResult = share(run_search(request, progress, wants_stop))
    return result


def on_ranks(request: Request) -> Request:
    """The same search as ranks do it: where leaves are evaluated elsewhere there is a rank, even without others."""
    plan = request.plan
    if plan.runtime == THREADS and plan.scheme.in_one_process:
        return replace(request, plan=replace(plan, scheme=plan.scheme.with_workers(plan), ranks=1))
    return request


def check_fit(request: Request) -> None:
    """Refuse a scheme, workers and a runtime that do not go together, before ranks are started for them."""
    plan, scheme = request.plan, request.plan.scheme
    which = f"scheme {scheme.name}{about('scheme', scheme.name)}"
    request.position.require_choice()
    if plan.latency and plan.runtime != MPI:
        raise OptionError(
            f"{named('latency')} holds MPI messages back; give {named('ranks')}, or {named('simulate')} with a network"
        )
    if plan.runtime != THREADS and not scheme.on_ranks:
        raise OptionError(f"{which} runs on threads only; for ranks give {named('scheme', 'span')}")
    if plan.runtime == MPI and scheme.needs_one_memory:
        others = f"{named('threads')}, {named('simulate')}, or {named('scheme', 'slow-tree')}"
        raise OptionError(f"{which} needs one memory; give {others}")
    if not scheme.on_ranks and plan.ranks != 1:
        raise OptionError(f"{which} runs in 1 thread, not {plan.ranks}; give {named('scheme', 'shared')}")
    if plan.runtime == THREADS and scheme.in_one_process and not plan.has_workers:
        return
    request = on_ranks(request)
    request.plan.scheme.check(request)
