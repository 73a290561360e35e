"""Games and planning problems: the protocol (`rules.py`), one file or folder a game, `check_game`.

Start reading at `rules.py`; `tictactoe.py` is the shortest game.
"""
