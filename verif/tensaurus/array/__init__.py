"""Benches of the compute array."""
