"""Loaders from memory to the array: the list of tiles, the tensor's slots, the matrices'
vectors."""
