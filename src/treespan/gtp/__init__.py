"""The Go Text Protocol, version 2. `protocol.py` turns lines into replies; `stream.py` reads and writes them.

`commands.py` has the commands of the specification, `analysis.py` those for user interfaces.
"""
