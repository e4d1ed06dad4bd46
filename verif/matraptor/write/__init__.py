"""Benches of the writer."""
