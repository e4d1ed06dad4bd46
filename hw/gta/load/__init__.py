"""Transfer of operands from memory to the lanes."""
