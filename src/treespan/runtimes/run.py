"""Which runtime runs a search: the one place that knows them all."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from treespan.runtimes.launch import inside_mpi
from treespan.runtimes.together import meet, require_same, share, together
from treespan.schemes.plan import MPI, SIMULATED, THREADS, Looks, Plan, Progress, Request, WantsStop
from treespan.search.result import SearchResult


class Crew(Protocol):
    """Ranks that search together: those of this MPI job (`crew.py`), or started ones (`ranks.py`)."""

    def search(
        self,
        request: Request,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
    ) -> SearchResult: ...

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any: ...

    @property
    def are_there(self) -> bool: ...


def run_search(
    request: Request,
    progress: Progress | None = None,
    wants_stop: WantsStop | None = None,
    crew: Crew | None = None,
    looks: Looks | None = None,
) -> SearchResult | None:
    """Search by any scheme on any runtime that suits it. In an MPI job only rank 0 gets a result, and looks.

    crew: the MPI ranks that search, if the plan is for such; None: those of this job, or some that are started now.
    """
    check_fit(request)
    return _run(request, progress, wants_stop, crew, looks)


def _run(
    request: Request,
    progress: Progress | None,
    wants_stop: WantsStop | None,
    crew: Crew | None,
    looks: Looks | None,
) -> SearchResult | None:
    plan = request.plan
    if plan.runtime == SIMULATED:
        from treespan.runtimes.simulated import run_simulated

        return run_simulated(request, progress, wants_stop, looks=looks)
    if plan.runtime == MPI and crew is not None:
        return crew.search(request, progress, wants_stop, looks)
    if plan.runtime == MPI and inside_mpi():
        from treespan.runtimes.mpi import run_mpi

        return run_mpi(request, progress, wants_stop, looks)
    if plan.runtime == MPI:
        with starting_ranks(plan) as ranks:
            return _run(request, progress, wants_stop, ranks, looks)
    if plan.scheme.in_one_process and not plan.has_workers:
        return plan.scheme.search_here(request, progress, wants_stop, looks)
    from treespan.runtimes.threads import run_threads

    def named_as_asked(result: SearchResult) -> SearchResult:
        result.scheme = plan.spec()
        return result

    looks = looks and looks.of(named_as_asked)
    return named_as_asked(run_threads(on_ranks(request), progress, wants_stop, looks))


@contextlib.contextmanager
def starting_ranks(plan: Plan) -> Iterator[Crew | None]:
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
    request: Request,
    progress: Progress | None = None,
    wants_stop: WantsStop | None = None,
    crew: Crew | None = None,
    looks: Looks | None = None,
) -> SearchResult:
    """As `run_search`, but in an MPI job without a crew all ranks get the result."""
    if request.plan.runtime == MPI and crew is None and inside_mpi():
        return search_together(request, progress, wants_stop, looks)
    result = run_search(request, progress, wants_stop, crew, looks)
    assert result is not None
    return result


@together(lambda *_: True)
def search_together(
    request: Request, progress: Progress | None, wants_stop: WantsStop | None, looks: Looks | None
) -> SearchResult:
    """Search with all ranks of this MPI job. All get the result, or, if one of them cannot begin, its error."""
    check_fit(request)
    meet()
    position = request.position
    asked = request.plan.spec(), position.moves_made, position.state.tobytes()
    require_same(
        repr(asked).encode(), "the ranks search different positions, or by different schemes; give all the same"
    )
    result: SearchResult = share(_run(request, progress, wants_stop, None, looks))
    return result


def on_ranks(request: Request) -> Request:
    """The same search as ranks do it: where leaves are evaluated elsewhere there is a rank, even without others."""
    plan = request.plan
    if plan.runtime == THREADS and plan.scheme.in_one_process:
        return replace(request, plan=replace(plan, scheme=plan.scheme.with_workers(plan), ranks=1))
    return request


def check_fit(request: Request) -> None:
    """Refuse a position without a choice, and what the scheme cannot do with so many ranks and workers in this game."""
    request.position.require_choice()
    plan = request.plan
    if plan.runtime != THREADS or not plan.scheme.in_one_process or plan.has_workers:
        request = on_ranks(request)
        request.plan.scheme.check(request)
