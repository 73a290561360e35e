"""The Go Text Protocol, version 2. `protocol.py` turns lines into replies and knows no stream; `stream.py` is the loop.

`commands.py` has the commands of the specification, `analysis.py` those for user interfaces.
"""
