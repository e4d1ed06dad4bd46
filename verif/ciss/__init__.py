"""Benches of the CISS format."""
