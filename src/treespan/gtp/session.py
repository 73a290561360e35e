"""A session: all commands together."""

from treespan.engine import GameEngine
from treespan.gtp.analysis import AnalysisCommands
from treespan.gtp.commands import GoCommands
from treespan.gtp.protocol import Protocol


def new_session(engine: GameEngine, ponders: bool = False) -> Protocol:
    """Return a protocol with the commands of GTP version 2 and those for user interfaces.

    Every command ends pondering, even one that changes nothing: the two must not share the processor.
    """
    protocol = Protocol(before_command=engine.halt)
    protocol.add(GoCommands(engine, ponders).commands())
    protocol.add(AnalysisCommands(engine).commands())
    return protocol
