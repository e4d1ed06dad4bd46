"""Benches of the C2SR format and its converter."""
