"""Benches of the arithmetic."""
