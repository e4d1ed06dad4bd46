"""Sparse matrices in memory from CSR to C2SR and back."""
