"""The tables of the five papers, a file for each paper, and ours beyond them. `registry.py` has them all by key."""
