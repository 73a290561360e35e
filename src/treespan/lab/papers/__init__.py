"""The tables of the five papers, one file a paper, and ours beyond them; `registry.py` has them all by key."""
