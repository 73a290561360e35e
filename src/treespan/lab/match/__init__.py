"""Matches: `play.py` plays the games, `referee.py` is one game, `players.py` who plays, `statistics.py` what a score means."""
