"""Benches of GTA."""
