"""Iterative computations, against libraries that do the same."""
