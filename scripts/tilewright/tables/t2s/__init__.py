"""Tables of the mapping language."""
