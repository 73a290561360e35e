"""Matches: `play.py` plays them, `referee.py` is one game, `players.py` who plays, `statistics.py` what scores mean."""
