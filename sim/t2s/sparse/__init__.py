"""Sparse operands: how the host lays out their entries, and what is computed with them."""
