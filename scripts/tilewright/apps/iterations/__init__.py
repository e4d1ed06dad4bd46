"""Iterative computations on a sparse matrix, two iterations a pass."""
