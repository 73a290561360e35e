"""Runtimes: where the ranks of a scheme run. The same compiled handlers run in all of them."""
