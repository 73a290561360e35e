"""`span`: jobs with many playouts deal them out on the way down.

`scheme.py` has the options, `dealing.py` the handlers.
"""
