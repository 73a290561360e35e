"""All commands of a session together."""

from treespan.engine import Engine
from treespan.gtp.analysis import AnalysisCommands
from treespan.gtp.commands import GoCommands
from treespan.gtp.protocol import Protocol


def new_session(engine: Engine, ponders: bool = False) -> Protocol:
    """A protocol that knows the commands of GTP version 2 and those for user interfaces.

    Each command ends pondering, also one that only looks: its work must not share the processor.
    """
    protocol = Protocol(before_command=engine.halt)
    protocol.add(GoCommands(engine, ponders).commands())
    protocol.add(AnalysisCommands(engine).commands())
    return protocol
