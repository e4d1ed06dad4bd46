"""Arithmetic that adds products to the sums of an element."""
