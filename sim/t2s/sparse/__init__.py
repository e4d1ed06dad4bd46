"""Lays out the entries of sparse operands on the host, and computes with them."""
