"""Benches of the cycle model of mapped arrays."""
