"""Finding programs of this machine."""

import os
import shutil


def find_program(name: str) -> str | None:
    """Return the path of a program, or None. Also looks where Debian puts games, which PATH often lacks.

    With TREESPAN_HIDE_PROGRAMS=1 in the environment no program is found by its name, as on a machine that has none.
    A program given by its path, such as `./engine`, is never hidden.
    """
    if os.environ.get("TREESPAN_HIDE_PROGRAMS") == "1" and not os.path.dirname(name):
        return None
    return shutil.which(name) or shutil.which(name, path="/usr/games:/usr/local/games")
