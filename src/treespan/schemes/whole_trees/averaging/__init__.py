"""Whole trees whose tops are added up in rounds: `root`, `slow-root`, `slow-tree`.

`rounds.py` has the arrays, `handlers.py` what is done with them, `agreement.py` whether the ranks prefer the same move.
"""
