"""Reads a sparse matrix from memory and forms sets of its elements."""
