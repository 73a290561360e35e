"""Schemes by name."""

from treespan.core.errors import unknown_name
from treespan.core.options import fill, split_spec
from treespan.schemes.base import Scheme
from treespan.schemes.root import Root
from treespan.schemes.sequential import Sequential

SCHEMES: dict[str, type[Scheme]] = {cls.name: cls for cls in (Sequential, Root)}


def make_scheme(spec: str, **overrides: str) -> Scheme:
    """A scheme from a spec such as `sequential:algorithm=dfuct`; overrides are options given elsewhere."""
    name, values = split_spec(spec)
    if name not in SCHEMES:
        raise unknown_name("scheme", name, SCHEMES)
    return fill(SCHEMES[name], {**values, **overrides}, name)


def default_scheme(threads: int) -> str:
    """The scheme for a number of threads when the user names none."""
    return "sequential" if threads == 1 else "root"
