"""Benches of the sums of columns."""
