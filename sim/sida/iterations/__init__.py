"""Iterative computations as passes: their programs, what they start from, when they end."""
