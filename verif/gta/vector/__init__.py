"""Benches of GTA's vector operations."""
