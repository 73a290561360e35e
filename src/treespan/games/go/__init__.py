"""Go: `board.py` has stones and chains, `scoring.py` area and results, `game.py` the game as a search sees it.

`manners.py` has the game between players: passing, with `safety.py`; dead stones, by `status.py`; files, by `sgf.py`.
"""

from treespan.games.go.game import Go

__all__ = ["Go"]
