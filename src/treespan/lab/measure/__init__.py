"""Measurements of searches: speed, scaling, schemes side by side, advice, costs of messages, known positions.

`searches.py` is one search as a unit of work; `plots.py` draws.
"""
