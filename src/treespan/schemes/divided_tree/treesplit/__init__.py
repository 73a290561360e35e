"""`treesplit`: jobs start at all ranks, and hot nodes are copied. `scheme.py` has the options, `copies.py` the copies,
`starters.py` begin and end."""
