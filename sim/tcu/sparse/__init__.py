"""Products of sparse matrices whose cost depends on the entries of the result (Theorem 3)."""
