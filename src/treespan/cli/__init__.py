"""The command line. Each command checks its input, calls one function below, and prints.

One module a group of commands; importing it registers them, in the order of `treespan --help`.
"""

from treespan.cli import search, play, gtp, match  # noqa: F401, I001 - in the order of the help
from treespan.cli import listing, measure, speedup, compare, paper, calibrate, tools  # noqa: F401 - each adds its commands
from treespan.cli.app import run


def main() -> None:
    """Entry point of the program `treespan`."""
    run()
