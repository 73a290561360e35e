"""Every rank, or rank 0 alone, has a whole tree.

Start at `handlers.py`, what a rank does; `scheme.py` makes it. A file a scheme.
"""
