"""Benches of the tile engine."""
