"""Matches: `play.py` plays a match, `referee.py` one game; `players.py` has players, `statistics.py` Elo and SPRT."""
