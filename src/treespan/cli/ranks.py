"""Sessions on the ranks of an MPI job."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treespan.engine import GameEngine


def lead_or_follow(engine: "GameEngine", session: Callable[[], None]) -> None:
    """Run a session with an engine. In an MPI job rank 0 alone does; the others search when it does."""
    from treespan.runtimes.crew import MpiCrew
    from treespan.runtimes.launch import inside_mpi
    from treespan.schemes.plan import MPI

    if engine.plan.runtime != MPI or not inside_mpi():
        session()
        return
    crew = MpiCrew()
    if not crew.is_leader:
        crew.follow()
        return
    try:
        engine.lead(crew)
        session()
    finally:
        crew.dismiss()
