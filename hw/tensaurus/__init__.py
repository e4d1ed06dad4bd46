"""Tensaurus: products of sparse or dense tensors with dense matrices, by scalars and fibers."""
