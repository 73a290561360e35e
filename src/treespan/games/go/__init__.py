"""Go. `board.py` has stones and chains, `scoring.py` area and results, `game.py` the game as a search sees it."""

from treespan.games.go.game import Go

__all__ = ["Go"]
