"""Schemes by name."""

from treespan.core.errors import unknown_name
from treespan.core.options import fill, split_spec
from treespan.schemes.base import Scheme
from treespan.schemes.root import Root
from treespan.schemes.sequential import Sequential
from treespan.schemes.shared import Shared
from treespan.schemes.span import Span
from treespan.schemes.tds_dfuct import TdsDfuct
from treespan.schemes.tds_uct import TdsUct

SCHEMES: dict[str, type[Scheme]] = {cls.name: cls for cls in (Sequential, Shared, Root, TdsUct, TdsDfuct, Span)}


def make_scheme(spec: str, **overrides: str) -> Scheme:
    """A scheme from a spec such as `sequential:algorithm=dfuct`; overrides are options given elsewhere."""
    name, values = split_spec(spec)
    if name not in SCHEMES:
        raise unknown_name("scheme", name, SCHEMES)
    return fill(SCHEMES[name], {**values, **overrides}, name)


def default_scheme(threads: int, runtime: str = "threads") -> str:
    """The scheme for a runtime and a number of threads when the user names none."""
    if runtime != "threads":
        return "tds-dfuct"
    return "sequential" if threads == 1 else "shared"
