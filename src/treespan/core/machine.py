"""What this process is and may use: cores, and whether it speaks for a job of several ranks."""

import os
import sys

# Set for each rank by mpiexec, or by srun: its number
RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
TERMINAL = "TREESPAN_TERMINAL"  # environment variable: the terminal that the launcher of ranks writes to


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def python_path() -> str:
    """Where this process finds modules, for processes that it starts: they import the same, whatever their folder."""
    return os.pathsep.join(path or os.getcwd() for path in sys.path)


def is_first_rank() -> bool:
    """Whether this process is rank 0, or no rank at all; does not need MPI."""
    return all(os.environ.get(name, "0") == "0" for name in RANK_VARIABLES)
