"""Programs of this machine."""

import shutil


def find_program(name: str) -> str | None:
    """Path of a program; Debian puts games where the PATH often does not look."""
    return shutil.which(name) or shutil.which(name, path="/usr/games:/usr/local/games")
