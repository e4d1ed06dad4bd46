"""Benches of the outer-product mode."""
