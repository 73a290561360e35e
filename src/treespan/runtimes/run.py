"""Which runtime runs a search: the one place that knows them all."""

from treespan.core.errors import OptionError
from treespan.runtimes.mpi import run_mpi
from treespan.runtimes.network import find_profile
from treespan.runtimes.simulated import run_simulated
from treespan.runtimes.threads import run_threads
from treespan.schemes.base import Request, Scheme
from treespan.schemes.distributed import Distributed
from treespan.search.result import SearchResult

RUNTIMES = ("threads", "mpi", "simulated")


def run_search(scheme: Scheme, request: Request, runtime: str = "threads", network: str = "qdr") -> SearchResult | None:
    """Search by any scheme on any runtime that suits it. In an MPI job only rank 0 gets a result."""
    check_fit(scheme, request, runtime)
    if searches_by_itself(scheme) and runtime == "threads":
        return scheme.search(request)
    assert isinstance(scheme, Distributed)
    if runtime == "simulated":
        return run_simulated(scheme, request, find_profile(network))
    return run_mpi(scheme, request) if runtime == "mpi" else run_threads(scheme, request)


def check_fit(scheme: Scheme, request: Request, runtime: str) -> None:
    """Refuse a scheme, workers and a runtime that do not go together: before ranks are started for them."""
    if searches_by_itself(scheme) and (runtime == "threads" or not isinstance(scheme, Distributed)):
        if runtime != "threads":
            raise OptionError(f"scheme {scheme.name} runs on threads only; for ranks give --scheme span")
        if request.workers or request.evaluate:
            option = "--evaluate" if request.evaluate else "--workers"
            raise OptionError(f"scheme {scheme.name} has no ranks for {option}; give --scheme span")
        return
    assert isinstance(scheme, Distributed)
    if searches_by_itself(scheme) and runtime == "mpi":
        raise OptionError(f"scheme {scheme.name} needs one memory; give --threads, --simulate, or --scheme slow-tree")
    if request.latency and runtime != "mpi":
        raise OptionError("--latency holds MPI messages back; give --ranks, or --simulate with a --network")
    scheme.check(request)


def searches_by_itself(scheme: Scheme) -> bool:
    return type(scheme).search is not Scheme.search
