"""Cycle model of striped memory: readers and a writer of lines, the buses, the channels."""
