"""The sequential searches: a tree in flat arrays, bandits, UCT and df-UCT.

Start reading at `uct.py`: a simulation is select, expand, playout, backup. `tree.py` has the arrays.
"""
