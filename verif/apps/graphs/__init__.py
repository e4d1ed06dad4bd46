"""Benches of the commands that take graphs to a semiring unit."""
