"""Runs iterative computations as passes: their programs, initial values and stop rules."""
