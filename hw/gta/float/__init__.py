"""Floats: operands taken apart, exact products added to running sums and rounded."""
