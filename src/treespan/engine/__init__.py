"""A game in progress. `engine.py` has position, undo and choice of move; `thinker.py` the search from move to move;
`timing.py` the clock; `tree.py` a tree to come back to."""

from treespan.engine.engine import RESIGN_MOVES, Decision, GameEngine

__all__ = ["RESIGN_MOVES", "Decision", "GameEngine"]
