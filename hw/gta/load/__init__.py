"""How operands come from memory to the lanes."""
