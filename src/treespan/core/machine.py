"""Facts about this process: the cores that it may use, and whether it is the first of several ranks."""

import os
import sys

# Environment variables in which mpiexec or srun writes a rank's number
RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
TERMINAL = "TREESPAN_TERMINAL"  # environment variable: the terminal that the launcher of ranks writes to


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def python_path() -> str:
    """Return a PYTHONPATH with which a child process finds the modules of this one, in whatever folder it runs."""
    return os.pathsep.join(path or os.getcwd() for path in sys.path)


def is_first_rank() -> bool:
    """Return whether this process is rank 0, or no rank at all. Does not need MPI."""
    return all(os.environ.get(name, "0") == "0" for name in RANK_VARIABLES)
