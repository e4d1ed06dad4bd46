"""Products of dense matrices: tall left operands, and recursion down to the unit."""
