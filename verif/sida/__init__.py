"""Benches of SIDA."""
