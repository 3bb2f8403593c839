"""Torture unmask: kill it, interrupt it, run it against itself, damage its stores, fill its disk.

`make torture` prints one row for each test: how often it was tried and how often it failed. Commands are forked
from a process that has imported everything, on tiny models, so that a kill costs a second and not ten.
"""
