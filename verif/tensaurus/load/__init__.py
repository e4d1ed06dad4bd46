"""Benches of the load side: the list of tiles, the tensor, the operands."""
