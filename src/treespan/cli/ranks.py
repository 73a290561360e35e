"""Sessions on the ranks of an MPI job."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treespan.engine import GameEngine
    from treespan.runtimes.ranks import RanksOnDemand
    from treespan.schemes.plan import Plan


def lead_or_follow(engine: "GameEngine", session: Callable[[], None]) -> None:
    """Run a session with an engine. In an MPI job rank 0 alone does; the others search when it does."""

    def lead(crew: Any) -> None:
        if crew is not None:
            engine.lead(crew)
        session()

    with_crew(engine.plan, None, lead)


def with_crew(plan: "Plan", own: "RanksOnDemand | None", lead: Callable[[Any], None]) -> None:
    """Run `lead` with the ranks that search. In an MPI job rank 0 alone does; the others do what it orders.

    own: ranks that this process starts, where there is no job; they are ended.
    """
    from treespan.runtimes.crew import MpiCrew
    from treespan.runtimes.launch import inside_mpi
    from treespan.schemes.plan import MPI

    if plan.runtime != MPI or not inside_mpi():
        try:
            lead(own)
        finally:
            if own is not None:
                own.close()
        return
    crew = MpiCrew()
    if not crew.is_leader:
        crew.follow()
        return
    try:
        lead(crew)
    finally:
        crew.dismiss()
