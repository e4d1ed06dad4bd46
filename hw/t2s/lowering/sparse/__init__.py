"""Lowers computations with sparse operands to designs."""
