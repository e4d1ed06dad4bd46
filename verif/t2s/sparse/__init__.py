"""Sparse operands: what brings their entries, and what takes them."""
