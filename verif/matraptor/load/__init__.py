"""Benches of the loaders."""
