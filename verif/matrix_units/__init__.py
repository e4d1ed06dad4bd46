"""Benches of the matrix units."""
