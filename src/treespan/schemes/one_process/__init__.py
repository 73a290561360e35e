"""Schemes of one process: one thread, or threads on one tree."""
