"""Benches of GTA's float units."""
