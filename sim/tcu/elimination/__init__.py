"""Gaussian elimination without pivoting, and systems of equations solved by it (Theorem 4)."""
