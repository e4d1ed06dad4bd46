"""Benches of the cycle model of whole jobs of GTA."""
