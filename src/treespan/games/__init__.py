"""Games and planning problems: the protocol (`rules.py`), a file or folder for each game, `check_game`.

Start reading at `rules.py`; `tictactoe.py` is the shortest game.
"""
