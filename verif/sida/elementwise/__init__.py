"""Benches of the core for programs between two products."""
