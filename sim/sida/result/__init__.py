"""Computes a pass bit for bit: products, sums in their order, element-wise programs."""
