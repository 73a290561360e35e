"""One tree over all ranks: nodes live at key mod N, and jobs travel to them.

Start at `handlers.py`, what a rank does with a job; `rank.py` is what it works on, `scheme.py` makes it.
"""
