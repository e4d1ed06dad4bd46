"""Benches of joined lanes."""
